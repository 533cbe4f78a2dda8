// SPDX-License-Identifier: Apache-2.0
// Did the snapshot change while it was looked at? A pause that is still writing looks like a torn
// file, and a torn file is a reason to give a sandbox up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sys/calls.h"

namespace vfsmend {

struct FileStamp {
  std::uint64_t ino = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// Of the file, or of the files of a snapshot directory that are read.
using SnapshotStamp = std::vector<FileStamp>;

[[nodiscard]] SnapshotStamp stamp_of(sys::Calls& calls, const std::string& path);

}  // namespace vfsmend
