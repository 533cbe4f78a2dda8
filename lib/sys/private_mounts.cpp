// SPDX-License-Identifier: Apache-2.0
#include "sys/private_mounts.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace vfsmend::sys {
namespace {

// sys/mount.h and linux/mount.h of Debian 12 cannot both be included.
constexpr unsigned long kBind = 4096;
constexpr unsigned long kRecursive = 16384;
constexpr unsigned long kSlave = 1UL << 19;

int mount_call(const char* source, const char* target, unsigned long flags) {
  return static_cast<int>(::syscall(SYS_mount, source, target, nullptr, flags, nullptr));
}

}  // namespace

Result<void> enter_private_mounts() {
  if (::unshare(CLONE_NEWNS) != 0) return fail_errno(errno, "a mount namespace");
  if (mount_call(nullptr, "/", kRecursive | kSlave) != 0) {
    return fail_errno(errno, "a private mount namespace");
  }
  return {};
}

Result<void> bind_over_itself(const std::string& path, bool read_only) {
  if (mount_call(path.c_str(), path.c_str(), kBind | kRecursive) != 0) {
    return fail_errno(errno, "bind " + path);
  }
  if (!read_only) return {};
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (::syscall(SYS_mount_setattr, AT_FDCWD, path.c_str(), AT_RECURSIVE, &attributes,
                sizeof attributes) != 0) {
    return fail_errno(errno, "bind " + path + " read-only");
  }
  return {};
}

Result<UniqueFd> clone_without_atime(int dir) {
  constexpr unsigned kTree = AT_EMPTY_PATH | AT_RECURSIVE;
  UniqueFd fd(static_cast<int>(
      ::syscall(SYS_open_tree, dir, "", kTree | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
  if (!fd.valid()) return fail_errno(errno, "a clone of the mount");
  mount_attr attributes{};
  attributes.attr_clr = MOUNT_ATTR__ATIME;
  attributes.attr_set = MOUNT_ATTR_NOATIME;
  if (::syscall(SYS_mount_setattr, fd.get(), "", kTree, &attributes, sizeof attributes) != 0) {
    return fail_errno(errno, "a clone of the mount without access times");
  }
  return fd;
}

Result<std::string> make_private_directory() {
  int err = 0;
  for (std::string name : {"/run/vfsmend-XXXXXX", "/tmp/vfsmend-XXXXXX"}) {
    if (::mkdtemp(name.data()) != nullptr) return name;
    err = errno;
  }
  return fail_errno(err, "a directory in /run or /tmp");
}

void remove_private_directory(const std::string& path) { ::rmdir(path.c_str()); }

}  // namespace vfsmend::sys
