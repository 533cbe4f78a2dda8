// SPDX-License-Identifier: Apache-2.0
#include "sys/calls.h"

#include <dirent.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

namespace vfsmend::sys {
namespace {

template <typename T>
T or_errno(T result) {
  return result < 0 ? static_cast<T>(-errno) : result;
}

// Linux 6.13; one number on all architectures. Not in the headers of Debian 12.
constexpr long kGetxattrat = 464;
constexpr long kListxattrat = 465;

struct XattrArguments {
  std::uint64_t value;
  std::uint32_t size;
  std::uint32_t flags;
};

// For kernels without them: a name that leads to the same object, and whether to follow it.
struct NamedObject {
  NamedObject(int dir, const char* path) : itself(*path != '\0') {
    if (*path != '/') name = "/proc/self/fd/" + std::to_string(dir) + (itself ? "/" : "");
    name += path;
  }
  std::string name;
  bool itself;  // the last component is not a link of procfs, so it must not be followed
};

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
  // The new calls refuse an O_PATH descriptor by itself.
  ssize_t listxattrat(int dir, const char* path, std::span<char> out) override {
    if (has_xattrat_ && *path != '\0') {
      const ssize_t n = or_errno(::syscall(kListxattrat, dir, path, AT_SYMLINK_NOFOLLOW, out.data(),
                                         out.size()));
      if (n != -ENOSYS) return n;
      has_xattrat_ = false;
    }
    const NamedObject object(dir, path);
    return or_errno(object.itself ? ::llistxattr(object.name.c_str(), out.data(), out.size())
                                  : ::listxattr(object.name.c_str(), out.data(), out.size()));
  }
  ssize_t getxattrat(int dir, const char* path, const char* name, std::span<char> out) override {
    if (has_xattrat_ && *path != '\0') {
      XattrArguments arguments{reinterpret_cast<std::uintptr_t>(out.data()),
                               static_cast<std::uint32_t>(out.size()), 0};
      const ssize_t n = or_errno(::syscall(kGetxattrat, dir, path, AT_SYMLINK_NOFOLLOW, name,
                                         &arguments, sizeof arguments));
      if (n != -ENOSYS) return n;
      has_xattrat_ = false;
    }
    const NamedObject object(dir, path);
    return or_errno(object.itself ? ::lgetxattr(object.name.c_str(), name, out.data(), out.size())
                                  : ::getxattr(object.name.c_str(), name, out.data(), out.size()));
  }
  uid_t effective_uid() override { return ::geteuid(); }
  int enter_mount_namespace(int fd) override { return or_errno(::setns(fd, CLONE_NEWNS)); }

 private:
  std::atomic<bool> has_xattrat_{true};
};

}  // namespace

Calls& kernel() {
  static Kernel instance;
  return instance;
}

}  // namespace vfsmend::sys
