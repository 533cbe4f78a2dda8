// SPDX-License-Identifier: Apache-2.0
#include "sys/changes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace vfsmend::sys {
namespace {

template <typename T>
T or_errno(T result) {
  return result < 0 ? static_cast<T>(-errno) : result;
}

// Linux 6.6; one number on all architectures. Not in the headers of Debian 12.
constexpr long kFchmodat2 = 452;

// A name of procfs that leads to the object itself, a symbolic link among them: such a link of
// procfs is no text that is read on.
std::string name_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

bool is_symlink(int fd) {
  struct stat st {};
  return ::fstat(fd, &st) == 0 && S_ISLNK(st.st_mode);
}

timespec timespec_of(std::optional<std::int64_t> time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (!time) return {0, UTIME_OMIT};
  // The nanoseconds count forwards, before 1970 too.
  const std::int64_t rest = *time % kSecond;
  const std::int64_t seconds = *time / kSecond - (rest < 0 ? 1 : 0);
  return {seconds, rest < 0 ? rest + kSecond : rest};
}

// The calls for objects are tried as they are for an open file. EBADF: it is an O_PATH descriptor.
class Kernel final : public Changes {
 public:
  int create(int dir, const char* name, int flags, mode_t mode) override {
    return or_errno(::openat(dir, name, flags, mode));
  }
  ssize_t pwrite(int fd, Bytes bytes, std::uint64_t offset) override {
    return or_errno(::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)));
  }
  ssize_t copy_file_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                          std::uint64_t size) override {
    auto from_at = static_cast<off_t>(from_offset);
    auto to_at = static_cast<off_t>(to_offset);
    return or_errno(::copy_file_range(from, &from_at, to, &to_at, size, 0));
  }
  int ftruncate(int fd, std::uint64_t size) override {
    return or_errno(::ftruncate(fd, static_cast<off_t>(size)));
  }
  int fsync(int fd) override { return or_errno(::fsync(fd)); }
  int link(int fd, int dir, const char* name) override {
    return or_errno(::linkat(AT_FDCWD, name_of(fd).c_str(), dir, name, AT_SYMLINK_FOLLOW));
  }
  int rename(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) override {
    if (flags == 0) return or_errno(::renameat(from_dir, from, to_dir, to));
    return or_errno(::renameat2(from_dir, from, to_dir, to, flags));
  }
  int unlink(int dir, const char* name) override { return or_errno(::unlinkat(dir, name, 0)); }

  int chmod(int fd, mode_t mode) override {
    const int rc = or_errno(::fchmod(fd, mode));
    if (rc != -EBADF) return rc;
    // Before Linux 6.6 some file systems changed a link's mode and said that they had not.
    if (is_symlink(fd)) return -EOPNOTSUPP;
    const long n = or_errno(::syscall(kFchmodat2, fd, "", mode, AT_EMPTY_PATH));
    if (n != -ENOSYS) return static_cast<int>(n);
    return or_errno(::chmod(name_of(fd).c_str(), mode));
  }
  int chown(int fd, uid_t owner, gid_t group) override {
    const int rc = or_errno(::fchown(fd, owner, group));
    if (rc != -EBADF) return rc;
    return or_errno(::fchownat(fd, "", owner, group, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
  }
  int set_times(int fd, std::optional<std::int64_t> atime,
                std::optional<std::int64_t> mtime) override {
    const timespec times[] = {timespec_of(atime), timespec_of(mtime)};
    const int rc = or_errno(::futimens(fd, times));
    if (rc != -EBADF) return rc;
    return or_errno(::utimensat(AT_FDCWD, name_of(fd).c_str(), times, 0));
  }
  int set_xattr(int fd, const char* name, std::string_view value) override {
    const int rc = or_errno(::fsetxattr(fd, name, value.data(), value.size(), 0));
    if (rc != -EBADF) return rc;
    return or_errno(::setxattr(name_of(fd).c_str(), name, value.data(), value.size(), 0));
  }
  int remove_xattr(int fd, const char* name) override {
    const int rc = or_errno(::fremovexattr(fd, name));
    if (rc != -EBADF) return rc;
    return or_errno(::removexattr(name_of(fd).c_str(), name));
  }
};

}  // namespace

Changes& kernel_changes() {
  static Kernel instance;
  return instance;
}

}  // namespace vfsmend::sys
