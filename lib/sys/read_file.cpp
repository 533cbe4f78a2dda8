// SPDX-License-Identifier: Apache-2.0
#include "sys/read_file.h"

#include <fmt/core.h>
#include <linux/openat2.h>

#include <cerrno>

#include "sys/times.h"

namespace vfsmend::sys {
namespace {

// Reads are made in pieces of this size, so that one of 2 GiB and more is not cut short silently.
constexpr std::size_t kLargestRead = std::size_t{64} << 20;

FileStamp stamp_from(const struct statx& st) {
  return {std::uint64_t{st.stx_dev_major} << 32 | st.stx_dev_minor, st.stx_ino, st.stx_size,
          nanoseconds(st.stx_mtime), nanoseconds(st.stx_ctime)};
}

Result<struct statx> look(Calls& calls, int fd) {
  struct statx st {};
  const int rc = calls.statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, st);
  if (rc < 0) return fail_errno(-rc, "cannot be looked at");
  return st;
}

// openat2, again where a signal came in between or a rename forbade an answer (EAGAIN).
int open_patiently(Calls& calls, int dir, const char* path, const open_how& how) {
  constexpr int kTries = 64;
  int fd = -EAGAIN;
  for (int i = 0; i < kTries && (fd == -EINTR || fd == -EAGAIN); ++i) {
    fd = calls.openat2(dir, path, how);
  }
  return fd;
}

}  // namespace

const char* kind_of(std::uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return "a regular file";
    case S_IFDIR: return "a directory";
    case S_IFLNK: return "a symbolic link";
    case S_IFIFO: return "a FIFO";
    case S_IFSOCK: return "a socket";
    case S_IFCHR: return "a character device";
    case S_IFBLK: return "a block device";
    default: return "of no known type";
  }
}

Result<Located> locate(Calls& calls, int dir, const std::string& path, std::uint64_t resolve) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = resolve;
  UniqueFd fd(open_patiently(calls, dir, path.c_str(), how));
  if (!fd.valid()) return fail_errno(-fd.get(), "cannot be opened");
  VFSMEND_TRY_ASSIGN(const struct statx st, look(calls, fd.get()));
  return Located{std::move(fd), st.stx_mode, stamp_from(st)};
}

Result<RegularFile> open_regular(Calls& calls, const Located& located) {
  if (!S_ISREG(located.mode)) {
    return fail(ErrorCode::kNotAState,
                fmt::format("is {}, not a regular file", kind_of(located.mode)));
  }
  // Through the descriptor, so that it is the object that was looked at and no other.
  const std::string link = fmt::format("/proc/self/fd/{}", located.fd.get());
  open_how how{};
  how.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_NOATIME;
  UniqueFd fd(open_patiently(calls, AT_FDCWD, link.c_str(), how));
  if (fd.get() == -EPERM) {  // O_NOATIME is for the owner and for CAP_FOWNER
    how.flags &= ~std::uint64_t{O_NOATIME};
    fd = UniqueFd(open_patiently(calls, AT_FDCWD, link.c_str(), how));
  }
  if (!fd.valid()) {
    return fail_errno(-fd.get(), "cannot be opened for reading (through /proc/self/fd)");
  }
  VFSMEND_TRY_ASSIGN(const FileStamp stamp, stamp_of(calls, fd.get()));
  return RegularFile{std::move(fd), stamp};
}

Result<void> read_exactly(Calls& calls, int fd, std::span<std::uint8_t> out,
                          std::uint64_t offset) {
  while (!out.empty()) {
    const ssize_t n = calls.pread(fd, out.first(std::min(out.size(), kLargestRead)), offset);
    if (n == -EINTR) continue;
    if (n < 0) {
      return fail_errno(static_cast<int>(-n), fmt::format("cannot be read at byte {}", offset));
    }
    if (n == 0) {
      return fail(ErrorCode::kFormat, fmt::format("byte {}: the file ends here; expected {} more "
                                                  "bytes", offset, out.size()));
    }
    out = out.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<FileStamp> stamp_of(Calls& calls, int fd) {
  VFSMEND_TRY_ASSIGN(const struct statx st, look(calls, fd));
  return stamp_from(st);
}

}  // namespace vfsmend::sys
