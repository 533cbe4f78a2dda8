// SPDX-License-Identifier: Apache-2.0
// The kernel, with a place for a test to step in: override what is to fail or to be counted.
#pragma once

#include "sys/calls.h"

namespace vfsmend::test {

class ForwardingCalls : public sys::Calls {
 public:
  int openat2(int dir, const char* path, const open_how& how) override {
    return kernel_.openat2(dir, path, how);
  }
  int statx(int dir, const char* path, int flags, unsigned mask, struct statx& out) override {
    return kernel_.statx(dir, path, flags, mask, out);
  }
  int name_to_handle_at(int dir, const char* path, file_handle& handle, int& mount_id,
                        int flags) override {
    return kernel_.name_to_handle_at(dir, path, handle, mount_id, flags);
  }
  int open_by_handle_at(int mount_fd, file_handle& handle, int flags) override {
    return kernel_.open_by_handle_at(mount_fd, handle, flags);
  }
  ssize_t readlinkat(int dir, const char* path, std::span<char> out) override {
    return kernel_.readlinkat(dir, path, out);
  }
  int fchdir(int dir) override { return kernel_.fchdir(dir); }
  int fstatfs(int fd, struct statfs& out) override { return kernel_.fstatfs(fd, out); }
  ssize_t pread(int fd, std::span<std::uint8_t> out, std::uint64_t offset) override {
    return kernel_.pread(fd, out, offset);
  }
  ssize_t getdents(int fd, std::span<std::uint8_t> out) override {
    return kernel_.getdents(fd, out);
  }
  ssize_t listxattrat(int dir, const char* path, std::span<char> out) override {
    return kernel_.listxattrat(dir, path, out);
  }
  ssize_t getxattrat(int dir, const char* path, const char* name, std::span<char> out) override {
    return kernel_.getxattrat(dir, path, name, out);
  }
  uid_t effective_uid() override { return kernel_.effective_uid(); }
  int enter_mount_namespace(int fd) override { return kernel_.enter_mount_namespace(fd); }

 protected:
  sys::Calls& kernel_ = sys::kernel();
};

}  // namespace vfsmend::test
