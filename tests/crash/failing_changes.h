// SPDX-License-Identifier: Apache-2.0
// The n-th change fails, alone or with all that come after it.
#pragma once

#include "support/forwarding_changes.h"

namespace vfsmend::test {

class FailingChanges final : public ForwardingChanges {
 public:
  FailingChanges(int nth, int err, bool for_ever, sys::Changes& next)
      : ForwardingChanges(next), left_(nth), err_(err), for_ever_(for_ever) {}

  // There was no n-th change.
  [[nodiscard]] bool never() const { return left_ > 0; }

  int create(int dir, const char* name, int flags, mode_t mode) override {
    return fails() ? -err_ : next_.create(dir, name, flags, mode);
  }
  ssize_t pwrite(int fd, Bytes bytes, std::uint64_t offset) override {
    return fails() ? -err_ : next_.pwrite(fd, bytes, offset);
  }
  ssize_t copy_file_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                          std::uint64_t size) override {
    return fails() ? -err_ : next_.copy_file_range(from, from_offset, to, to_offset, size);
  }
  int ftruncate(int fd, std::uint64_t size) override {
    return fails() ? -err_ : next_.ftruncate(fd, size);
  }
  int fsync(int fd) override { return fails() ? -err_ : next_.fsync(fd); }
  int link(int fd, int dir, const char* name) override {
    return fails() ? -err_ : next_.link(fd, dir, name);
  }
  int rename(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) override {
    return fails() ? -err_ : next_.rename(from_dir, from, to_dir, to, flags);
  }
  int unlink(int dir, const char* name) override {
    return fails() ? -err_ : next_.unlink(dir, name);
  }
  int chmod(int fd, mode_t mode) override { return fails() ? -err_ : next_.chmod(fd, mode); }
  int chown(int fd, uid_t owner, gid_t group) override {
    return fails() ? -err_ : next_.chown(fd, owner, group);
  }
  int set_times(int fd, std::optional<std::int64_t> atime,
                std::optional<std::int64_t> mtime) override {
    return fails() ? -err_ : next_.set_times(fd, atime, mtime);
  }
  int set_xattr(int fd, const char* name, std::string_view value) override {
    return fails() ? -err_ : next_.set_xattr(fd, name, value);
  }
  int remove_xattr(int fd, const char* name) override {
    return fails() ? -err_ : next_.remove_xattr(fd, name);
  }

 private:
  bool fails() {
    --left_;
    return left_ == 0 || (left_ < 0 && for_ever_);
  }

  int left_;
  int err_;
  bool for_ever_;
};

}  // namespace vfsmend::test
