// SPDX-License-Identifier: Apache-2.0
// The system calls with which the tool looks at files: one seam, so that a test can make the n-th
// of them fail, record what was asked of the kernel, or play another host.
//
// All return as the kernel does, but an error as a negative errno (-ENOENT): no errno variable is
// read behind a caller's back. Nothing here changes a file.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

struct file_handle;
struct open_how;
struct statfs;

namespace vfsmend::sys {

class Calls {
 public:
  Calls() = default;
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  virtual ~Calls() = default;

  virtual int openat2(int dir, const char* path, const open_how& how) = 0;      // Linux 5.6
  virtual int statx(int dir, const char* path, int flags, unsigned mask, struct statx& out) = 0;
  virtual int name_to_handle_at(int dir, const char* path, file_handle& handle, int& mount_id,
                                int flags) = 0;
  virtual int open_by_handle_at(int mount_fd, file_handle& handle, int flags) = 0;
  virtual ssize_t readlinkat(int dir, const char* path, std::span<char> out) = 0;
  virtual int fchdir(int dir) = 0;
  virtual int fstatfs(int fd, struct statfs& out) = 0;
  virtual ssize_t pread(int fd, std::span<std::uint8_t> out, std::uint64_t offset) = 0;
  // Entries of a directory that is open for reading, as getdents64(2) packs them.
  virtual ssize_t getdents(int fd, std::span<std::uint8_t> out) = 0;
  // Of what `path` names below `dir`, a symbolic link itself; "": of `dir`. As listxattr(2) and
  // getxattr(2): the size, or with an empty `out` the one that is needed.
  virtual ssize_t listxattrat(int dir, const char* path, std::span<char> out) = 0;
  virtual ssize_t getxattrat(int dir, const char* path, const char* name, std::span<char> out) = 0;
  virtual uid_t effective_uid() = 0;
  // Enters the mount namespace that `fd` (an open /proc/PID/ns/mnt) stands for.
  virtual int enter_mount_namespace(int fd) = 0;
};

// The kernel's own.
[[nodiscard]] Calls& kernel();

}  // namespace vfsmend::sys
