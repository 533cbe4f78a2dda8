// SPDX-License-Identifier: Apache-2.0
// File systems that cannot do all that ext4 can.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "support/forwarding_changes.h"

namespace vfsmend::test {

struct Lacks {
  std::string name;
  bool tmpfile = false;     // O_TMPFILE: NFS, FUSE
  bool links = false;       // hard links too, and RENAME_NOREPLACE: FAT, many of FUSE
  std::size_t at_once = 0;  // bytes that one call writes at most; 0: all
};

// Syncs nothing: what would be on a disk is played (power_cuts.h), and a real sync takes long.
class Unsynced final : public ForwardingChanges {
 public:
  int fsync(int) override { return 0; }
};

inline sys::Changes& unsynced() {
  static Unsynced instance;
  return instance;
}

class PoorFileSystem final : public ForwardingChanges {
 public:
  explicit PoorFileSystem(const Lacks& lacks, sys::Changes& next = unsynced())
      : ForwardingChanges(next), lacks_(lacks) {}

  int create(int dir, const char* name, int flags, mode_t mode) override {
    if (lacks_.tmpfile && (flags & O_TMPFILE) == O_TMPFILE) return -EOPNOTSUPP;
    return next_.create(dir, name, flags, mode);
  }
  ssize_t pwrite(int fd, Bytes bytes, std::uint64_t offset) override {
    return next_.pwrite(fd, bytes.first(at_most(bytes.size())), offset);
  }
  ssize_t copy_file_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                          std::uint64_t size) override {
    return next_.copy_file_range(from, from_offset, to, to_offset, at_most(size));
  }
  int link(int fd, int dir, const char* name) override {
    return lacks_.links ? -EPERM : next_.link(fd, dir, name);
  }
  int rename(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) override {
    if (lacks_.links && flags != 0) return -EINVAL;
    return next_.rename(from_dir, from, to_dir, to, flags);
  }

 private:
  [[nodiscard]] std::uint64_t at_most(std::uint64_t size) const {
    return lacks_.at_once == 0 ? size : std::min<std::uint64_t>(size, lacks_.at_once);
  }

  const Lacks& lacks_;
};

}  // namespace vfsmend::test
