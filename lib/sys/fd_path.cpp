// SPDX-License-Identifier: Apache-2.0
#include "sys/fd_path.h"

#include <fmt/core.h>
#include <linux/openat2.h>

#include <array>

#include "base/bytes.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {

std::optional<std::string> path_of_fd(Calls& calls, int fd) {
  std::array<char, 4096> buffer;
  const std::string link = fmt::format("/proc/self/fd/{}", fd);
  const ssize_t length = calls.readlinkat(AT_FDCWD, link.c_str(), buffer);
  if (length <= 0 || static_cast<std::size_t>(length) == buffer.size()) return std::nullopt;
  return std::string(buffer.data(), static_cast<std::size_t>(length));
}

Result<std::string> read_proc_file(Calls& calls, const char* path, int dir) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC;
  const UniqueFd fd(calls.openat2(dir, path, how));
  if (!fd.valid()) return fail_errno(-fd.get(), path);
  std::string out;
  std::array<std::uint8_t, 65536> buffer;
  for (;;) {
    const ssize_t n = calls.pread(fd.get(), buffer, out.size());
    if (n < 0) return fail_errno(static_cast<int>(-n), path);
    if (n == 0) return out;
    out.append(as_text(Bytes(buffer).first(static_cast<std::size_t>(n))));
  }
}

}  // namespace vfsmend::sys
