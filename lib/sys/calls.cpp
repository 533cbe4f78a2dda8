// SPDX-License-Identifier: Apache-2.0
#include "sys/calls.h"

#include <dirent.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

namespace vfsmend::sys {
namespace {

template <typename T>
T or_errno(T result) {
  return result < 0 ? static_cast<T>(-errno) : result;
}

class Kernel final : public Calls {
 public:
  int openat2(int dir, const char* path, const open_how& how) override {
    return static_cast<int>(or_errno(::syscall(SYS_openat2, dir, path, &how, sizeof how)));
  }
  int statx(int dir, const char* path, int flags, unsigned mask, struct statx& out) override {
    return or_errno(::statx(dir, path, flags, mask, &out));
  }
  int name_to_handle_at(int dir, const char* path, file_handle& handle, int& mount_id,
                        int flags) override {
    return or_errno(::name_to_handle_at(dir, path, &handle, &mount_id, flags));
  }
  int open_by_handle_at(int mount_fd, file_handle& handle, int flags) override {
    return or_errno(::open_by_handle_at(mount_fd, &handle, flags));
  }
  ssize_t readlinkat(int dir, const char* path, std::span<char> out) override {
    return or_errno(::readlinkat(dir, path, out.data(), out.size()));
  }
  int fchdir(int dir) override { return or_errno(::fchdir(dir)); }
  int fstatfs(int fd, struct statfs& out) override { return or_errno(::fstatfs(fd, &out)); }
  ssize_t pread(int fd, std::span<std::uint8_t> out, std::uint64_t offset) override {
    return or_errno(::pread(fd, out.data(), out.size(), static_cast<off_t>(offset)));
  }
  ssize_t getdents(int fd, std::span<std::uint8_t> out) override {
    return or_errno(::getdents64(fd, out.data(), out.size()));
  }
  uid_t effective_uid() override { return ::geteuid(); }
  int enter_mount_namespace(int fd) override { return or_errno(::setns(fd, CLONE_NEWNS)); }
};

}  // namespace

Calls& kernel() {
  static Kernel instance;
  return instance;
}

}  // namespace vfsmend::sys
