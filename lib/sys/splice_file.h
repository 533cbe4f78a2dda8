// SPDX-License-Identifier: Apache-2.0
// Other bytes in the place of some of a file's, in one step: whoever looks at its path, and
// whatever is cut short, finds the old file or the new one, whole; and the old one stays, under
// another name.
//
//  1. a file without a name beside the original gets its bytes and the new ones. What stays is not
//     read where the file system can share it (copy_file_range), holes stay holes;
//  2. owner, attributes (ACL and label among them) and mode of the original; fsync;
//  3. the original gets its second name: as a hard link, or where the file system has none, as a
//     copy, its modification time included. A rename would leave the path empty for a moment; fsync of the directory;
//  4. the new file is renamed over the path; fsync of the directory.
//
// A crash before 3 leaves the original (and on a file system without O_TMPFILE a file
// `name`.xxxxxx), one before 4 the original under two names, one after it what is wanted.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "sys/calls.h"
#include "sys/changes.h"
#include "sys/read_file.h"

namespace vfsmend::sys {

// `bytes` in the place of the bytes begin .. end - 1 of the original.
struct Edit {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  ByteVector bytes;
};

struct ReplacedFile {
  std::string path;  // without symbolic links: what was replaced is the file, never a link to it
  std::string kept;  // path of the original, in the same directory
  FileStamp stamp;   // of the new file
};

// Replaces `original` where it lies. `edits` ascend and do not overlap. `kept_name` is a name in
// the same directory. kUsage where that is taken or none; kSystem with EBUSY where the original is
// not as its stamp says, or no longer there; kSystem for all else. An error leaves the original in
// its place and nothing beside it; but one of the last fsync leaves what is wanted, perhaps not on
// disk.
[[nodiscard]] Result<ReplacedFile> splice_file(Calls& calls, Changes& changes,
                                               const RegularFile& original,
                                               std::span<const Edit> edits,
                                               const std::string& kept_name);

}  // namespace vfsmend::sys
