// SPDX-License-Identifier: Apache-2.0
// Performs each change, and writes it down so that it can be played on a Disk.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "disk.h"
#include "support/forwarding_changes.h"

namespace vfsmend::test {

struct Change {
  enum class Kind {
    kWrite,     // `bytes` at `offset` of `file`
    kTruncate,  // `file` to `offset` bytes
    kLooks,     // mode, owner, group and modification time of `file`
    kNames,     // `names` in `directory`, all of them or none; -1: the name is gone
    kSyncFile,
    kSyncNames,  // of `directory`
  };
  Kind kind{};
  int file = -1;
  std::string bytes;
  std::uint64_t offset = 0;
  mode_t mode = 0;
  uid_t owner = 0;
  gid_t group = 0;
  std::int64_t mtime_ns = 0;  // 0: of no interest
  std::string directory;
  std::vector<std::pair<std::string, int>> names;
};

class RecordingChanges final : public ForwardingChanges {
 public:
  // Of what lies below `folder`, as it is now.
  explicit RecordingChanges(const std::string& folder, sys::Changes& next = sys::kernel_changes());

  int create(int dir, const char* name, int flags, mode_t mode) override;
  ssize_t pwrite(int fd, Bytes bytes, std::uint64_t offset) override;
  ssize_t copy_file_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                          std::uint64_t size) override;
  int ftruncate(int fd, std::uint64_t size) override;
  int fsync(int fd) override;
  int link(int fd, int dir, const char* name) override;
  int rename(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) override;
  int unlink(int dir, const char* name) override;
  int chmod(int fd, mode_t mode) override;
  int chown(int fd, uid_t owner, gid_t group) override;
  int set_times(int fd, std::optional<std::int64_t> atime,
                std::optional<std::int64_t> mtime) override;

  // The disk at the start, with a file without a name for each that was made.
  [[nodiscard]] const Disk& start() const { return start_; }
  [[nodiscard]] const std::vector<Change>& log() const { return log_; }

 private:
  [[nodiscard]] int file_of(int fd);
  Change& note(Change::Kind kind, int file = -1);
  void note_name(const std::string& path, int file);  // -1: gone
  void note_looks(int fd, std::int64_t mtime_ns = 0);

  std::map<ino_t, int> inodes_;  // filled by what start_ is read with
  Disk start_;
  std::map<std::string, int> names_;  // as they are now
  std::vector<Change> log_;
};

}  // namespace vfsmend::test
