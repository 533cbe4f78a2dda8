// SPDX-License-Identifier: Apache-2.0
// Changes that go on to others, with a place for a test to step in: override what is to fail or to
// be written down.
#pragma once

#include "sys/changes.h"

namespace vfsmend::test {

class ForwardingChanges : public sys::Changes {
 public:
  explicit ForwardingChanges(sys::Changes& next = sys::kernel_changes()) : next_(next) {}

  int create(int dir, const char* name, int flags, mode_t mode) override {
    return next_.create(dir, name, flags, mode);
  }
  ssize_t pwrite(int fd, Bytes bytes, std::uint64_t offset) override {
    return next_.pwrite(fd, bytes, offset);
  }
  ssize_t copy_file_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                          std::uint64_t size) override {
    return next_.copy_file_range(from, from_offset, to, to_offset, size);
  }
  int ftruncate(int fd, std::uint64_t size) override { return next_.ftruncate(fd, size); }
  int fsync(int fd) override { return next_.fsync(fd); }
  int link(int fd, int dir, const char* name) override { return next_.link(fd, dir, name); }
  int rename(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) override {
    return next_.rename(from_dir, from, to_dir, to, flags);
  }
  int unlink(int dir, const char* name) override { return next_.unlink(dir, name); }
  int chmod(int fd, mode_t mode) override { return next_.chmod(fd, mode); }
  int chown(int fd, uid_t owner, gid_t group) override { return next_.chown(fd, owner, group); }
  int set_times(int fd, std::optional<std::int64_t> atime,
                std::optional<std::int64_t> mtime) override {
    return next_.set_times(fd, atime, mtime);
  }
  int set_xattr(int fd, const char* name, std::string_view value) override {
    return next_.set_xattr(fd, name, value);
  }
  int remove_xattr(int fd, const char* name) override { return next_.remove_xattr(fd, name); }

 protected:
  sys::Changes& next_;
};

}  // namespace vfsmend::test
