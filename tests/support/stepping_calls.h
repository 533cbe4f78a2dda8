// SPDX-License-Identifier: Apache-2.0
// The kernel, with a step before each call: a test changes the world there, or says how the call
// fails.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "support/forwarding_calls.h"

namespace vfsmend::test {

struct Step {
  std::string_view call;  // "statx"
  int dir = -1;
  std::string_view path;  // "": of `dir` itself
};

class SteppingCalls final : public ForwardingCalls {
 public:
  // Returns 0, or the negative errno that the call is to fail with. Called by any thread.
  explicit SteppingCalls(std::function<int(const Step&)> step) : step_(std::move(step)) {}

  int openat2(int dir, const char* path, const open_how& how) override {
    const int err = step_({"openat2", dir, path});
    return err < 0 ? err : kernel_.openat2(dir, path, how);
  }
  int statx(int dir, const char* path, int flags, unsigned mask, struct statx& out) override {
    const int err = step_({"statx", dir, path});
    return err < 0 ? err : kernel_.statx(dir, path, flags, mask, out);
  }
  int name_to_handle_at(int dir, const char* path, file_handle& handle, int& mount_id,
                        int flags) override {
    const int err = step_({"name_to_handle_at", dir, path});
    return err < 0 ? err : kernel_.name_to_handle_at(dir, path, handle, mount_id, flags);
  }
  int open_by_handle_at(int mount_fd, file_handle& handle, int flags) override {
    const int err = step_({"open_by_handle_at", mount_fd, ""});
    return err < 0 ? err : kernel_.open_by_handle_at(mount_fd, handle, flags);
  }
  ssize_t readlinkat(int dir, const char* path, std::span<char> out) override {
    const int err = step_({"readlinkat", dir, path});
    return err < 0 ? err : kernel_.readlinkat(dir, path, out);
  }
  int fchdir(int dir) override {
    const int err = step_({"fchdir", dir, ""});
    return err < 0 ? err : kernel_.fchdir(dir);
  }
  int fstatfs(int fd, struct statfs& out) override {
    const int err = step_({"fstatfs", fd, ""});
    return err < 0 ? err : kernel_.fstatfs(fd, out);
  }
  ssize_t pread(int fd, std::span<std::uint8_t> out, std::uint64_t offset) override {
    const int err = step_({"pread", fd, ""});
    return err < 0 ? err : kernel_.pread(fd, out, offset);
  }
  ssize_t getdents(int fd, std::span<std::uint8_t> out) override {
    const int err = step_({"getdents", fd, ""});
    return err < 0 ? err : kernel_.getdents(fd, out);
  }
  ssize_t listxattrat(int dir, const char* path, std::span<char> out) override {
    const int err = step_({"listxattrat", dir, path});
    return err < 0 ? err : kernel_.listxattrat(dir, path, out);
  }
  ssize_t getxattrat(int dir, const char* path, const char* name, std::span<char> out) override {
    const int err = step_({"getxattrat", dir, path});
    return err < 0 ? err : kernel_.getxattrat(dir, path, name, out);
  }

 private:
  std::function<int(const Step&)> step_;
};

}  // namespace vfsmend::test
