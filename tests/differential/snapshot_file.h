// SPDX-License-Identifier: Apache-2.0
// A snapshot that a case repairs: a raw state in a folder of its own, with a mode, an owner, an
// attribute and a time that no default would give it. What a repair loses of them is seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "dice.h"
#include "sys/xattrs.h"

namespace vfsmend::differential {

struct FileFacts {
  std::uint64_t ino = 0;
  std::uint32_t mode = 0;  // with the type
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t mtime = 0;  // ns since 1970
  sys::Xattrs xattrs;
  ByteVector bytes;
};

class SnapshotFile {
 public:
  // `folder` is made, and is gone with this object.
  [[nodiscard]] static Result<SnapshotFile> make(const std::string& folder, Bytes state, Dice& dice);
  SnapshotFile(SnapshotFile&& from) noexcept : folder_(std::move(from.folder_)) { from.folder_.clear(); }
  SnapshotFile(const SnapshotFile&) = delete;
  SnapshotFile& operator=(const SnapshotFile&) = delete;
  SnapshotFile& operator=(SnapshotFile&&) = delete;
  ~SnapshotFile();

  [[nodiscard]] std::string path() const { return folder_ + "/state"; }
  [[nodiscard]] Result<FileFacts> facts() const;
  // What lies in the folder beside it, ascending.
  [[nodiscard]] std::vector<std::string> others() const;

 private:
  explicit SnapshotFile(std::string folder) : folder_(std::move(folder)) {}
  [[nodiscard]] Result<void> write(Bytes state, Dice& dice) const;

  std::string folder_;
};

// What a file and one that took its place have to share: "mode, owner"; "" where they do.
[[nodiscard]] std::string differing_looks(const FileFacts& a, const FileFacts& b);
// What differs where the file has to be as it was; "" where nothing does.
[[nodiscard]] std::string differing(const FileFacts& a, const FileFacts& b);

}  // namespace vfsmend::differential
