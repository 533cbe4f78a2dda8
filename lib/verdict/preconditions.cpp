// SPDX-License-Identifier: Apache-2.0
#include "verdict/preconditions.h"

#include <fmt/format.h>
#include <linux/openat2.h>

#include <cerrno>

#include "base/text.h"
#include "sys/unique_fd.h"
#include "verdict/share.h"

namespace vfsmend {

std::string cannot_look(sys::Calls& calls) {
  if (calls.effective_uid() != 0) {
    return "looking needs root: the share's directories and file handles are not for everybody";
  }
  const sys::UniqueFd root(open_path(calls, AT_FDCWD, "/", Leave::kFreely, true));
  if (root.get() == -ENOSYS) return "this kernel has no openat2(2): Linux 5.6 is needed";
  return {};
}

std::string enter_mount_namespace(sys::Calls& calls, pid_t pid) {
  const std::string path = fmt::format("/proc/{}/ns/mnt", pid);
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC;
  const sys::UniqueFd fd(calls.openat2(AT_FDCWD, path.c_str(), how));
  const int err = fd.valid() ? calls.enter_mount_namespace(fd.get()) : fd.get();
  return err < 0 ? fmt::format("{}: {}", path, errno_text(-err)) : std::string();
}

}  // namespace vfsmend
