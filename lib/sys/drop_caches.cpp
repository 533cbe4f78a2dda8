// SPDX-License-Identifier: Apache-2.0
#include "sys/drop_caches.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "sys/unique_fd.h"

namespace vfsmend::sys {

Result<void> drop_name_caches() {
  constexpr const char* kFile = "/proc/sys/vm/drop_caches";
  const UniqueFd fd(::open(kFile, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid() || ::write(fd.get(), "2\n", 2) != 2) return fail_errno(errno, kFile);
  return {};
}

}  // namespace vfsmend::sys
