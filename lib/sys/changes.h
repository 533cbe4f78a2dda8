// SPDX-License-Identifier: Apache-2.0
// The system calls with which the tool changes a disk: one seam, so that a test can make the n-th of
// them fail, write them down, or build what a power cut between two of them leaves.
//
// All return as the kernel does, but an error as a negative errno (-ENOSPC). What only looks goes
// through sys::Calls. A change that is not in here is not made.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace vfsmend::sys {

class Changes {
 public:
  Changes() = default;
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;
  virtual ~Changes() = default;

  // Files, and their names. `name` is below `dir` (AT_FDCWD among them).

  // A new file, open for writing: it has no name (O_TMPFILE, `name` is then its directory), or one
  // that nothing had before (O_CREAT | O_EXCL).
  virtual int create(int dir, const char* name, int flags, mode_t mode) = 0;
  virtual ssize_t pwrite(int fd, Bytes bytes, std::uint64_t offset) = 0;
  virtual ssize_t copy_file_range(int from, std::uint64_t from_offset, int to,
                                  std::uint64_t to_offset, std::uint64_t size) = 0;
  virtual int ftruncate(int fd, std::uint64_t size) = 0;
  // Of a file: what it holds. Of a directory: its names.
  virtual int fsync(int fd) = 0;
  // Another name for an open file.
  virtual int link(int fd, int dir, const char* name) = 0;
  virtual int rename(int from_dir, const char* from, int to_dir, const char* to,
                     unsigned flags) = 0;  // RENAME_*
  virtual int unlink(int dir, const char* name) = 0;

  // Objects, by any descriptor of theirs, O_PATH among them. Of a symbolic link it is the link
  // itself that changes: nothing is followed.

  virtual int chmod(int fd, mode_t mode) = 0;  // of a symbolic link: -EOPNOTSUPP
  virtual int chown(int fd, uid_t owner, gid_t group) = 0;
  // Nanoseconds since 1970, negative ones before it; no value: stays as it is.
  virtual int set_times(int fd, std::optional<std::int64_t> atime,
                        std::optional<std::int64_t> mtime) = 0;
  virtual int set_xattr(int fd, const char* name, std::string_view value) = 0;
  virtual int remove_xattr(int fd, const char* name) = 0;
};

// The kernel's own. They need /proc for what an O_PATH descriptor cannot do.
[[nodiscard]] Changes& kernel_changes();

}  // namespace vfsmend::sys
