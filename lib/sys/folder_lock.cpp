// SPDX-License-Identifier: Apache-2.0
#include "sys/folder_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "base/text.h"
#include "sys/fd_path.h"
#include "sys/listing.h"
#include "sys/read_file.h"

namespace vfsmend::sys {
namespace {

int open_directory(Calls& calls, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  return calls.openat2(AT_FDCWD, path.c_str(), how);
}

std::string name_of(Calls& calls, pid_t pid) {
  auto name = read_proc_file(calls, fmt::format("/proc/{}/comm", pid).c_str());
  if (!name) return "?";
  while (name->ends_with('\n')) name->pop_back();
  return printable(*name);
}

// Who holds the flock on this inode: "1: FLOCK  ADVISORY  WRITE 1234 fd:00:2531452 0 EOF".
std::string holder_of(Calls& calls, const struct statx& directory) {
  const auto locks = read_proc_file(calls, "/proc/locks");
  if (!locks) return "held by another process";
  const std::string wanted = fmt::format(" {:02x}:{:02x}:{} ", directory.stx_dev_major,
                                         directory.stx_dev_minor, directory.stx_ino);
  const std::size_t at = locks->find(wanted);
  if (at == std::string::npos) return "held by another process";
  const std::size_t begin = locks->rfind(' ', at - 1) + 1;
  pid_t pid = 0;
  std::from_chars(locks->data() + begin, locks->data() + at, pid);
  return fmt::format("held by process {} ({})", pid, name_of(calls, pid));
}

}  // namespace

Result<UniqueFd> lock_folder(Calls& calls, const std::string& directory) {
  UniqueFd fd(open_directory(calls, directory));
  if (!fd.valid()) return fail_errno(-fd.get(), directory);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  const int err = errno;
  if (err != EWOULDBLOCK) return fail_errno(err, directory);
  struct statx stat{};
  std::string who = "held by another process";
  if (calls.statx(fd.get(), "", AT_EMPTY_PATH, STATX_INO, stat) == 0) who = holder_of(calls, stat);
  return tl::make_unexpected(Error{ErrorCode::kSystem, err,
                                   fmt::format("{}: another repair is at work: {}", printable(directory), who)});
}

std::vector<Holder> who_has_open(Calls& calls, const std::string& path) {
  std::vector<Holder> out;
  struct statx wanted{};
  // What others have open may lie on a file system that does not answer: nothing is asked of it.
  constexpr int kFlags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
  if (calls.statx(AT_FDCWD, path.c_str(), kFlags, STATX_INO, wanted) < 0) return out;
  const UniqueFd proc(open_directory(calls, "/proc"));
  std::array<std::uint8_t, 32768> buffer;
  const auto has_it = [&](pid_t pid) {
    const UniqueFd fds(open_directory(calls, fmt::format("/proc/{}/fd", pid)));
    std::array<std::uint8_t, 32768> names;
    return fds.valid() && for_each_name(calls, fds.get(), names, [&](const char* name, std::uint64_t) {
             struct statx stat{};
             return calls.statx(fds.get(), name, kFlags, STATX_INO, stat) < 0 || stat.stx_ino != wanted.stx_ino ||
                    stat.stx_dev_major != wanted.stx_dev_major ||
                    stat.stx_dev_minor != wanted.stx_dev_minor;
           }) == 1;
  };
  const int end = for_each_name(calls, proc.get(), buffer, [&](const char* name, std::uint64_t) {
    const std::string_view text(name);
    pid_t pid = 0;
    const auto [rest, err] = std::from_chars(text.data(), text.data() + text.size(), pid);
    const bool process = err == std::errc() && rest == text.data() + text.size();
    // The worker is ours, and so is who waits for it.
    if (process && pid != ::getpid() && pid != ::getppid() && has_it(pid)) {
      out.push_back({pid, name_of(calls, pid)});
    }
    return true;
  });
  static_cast<void>(end);  // what could be read is what is told
  return out;
}

}  // namespace vfsmend::sys
