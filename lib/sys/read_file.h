// SPDX-License-Identifier: Apache-2.0
// Reading a file that somebody else may have put there: what stands at a path is looked at first,
// and only a regular file is opened. A FIFO would block us, a device may act on being opened.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "sys/calls.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {

// What tells that a file is no longer the one that was read, or was written to.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;      // bytes
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

// An object that was found and not opened (O_PATH).
struct Located {
  UniqueFd fd;
  std::uint32_t mode = 0;  // type and permissions, as in stat
  FileStamp stamp;
};

struct RegularFile {
  UniqueFd fd;
  FileStamp stamp;  // from before the first read
};

// "a FIFO", "a directory": the type of an st_mode, for texts.
[[nodiscard]] const char* kind_of(std::uint32_t mode);

// Resolves `path` from `dir`, following symbolic links as far as `resolve` (RESOLVE_* of
// openat2) lets it. kSystem; the text is the system's alone, without the path.
[[nodiscard]] Result<Located> locate(Calls& calls, int dir, const std::string& path,
                                     std::uint64_t resolve = 0);

// Opens for reading what was located; access times stay as they are where the kernel allows it.
// kNotAState where it is no regular file.
[[nodiscard]] Result<RegularFile> open_regular(Calls& calls, const Located& located);

// All of `out`, from `offset`. kFormat with the place where the file ends before that.
[[nodiscard]] Result<void> read_exactly(Calls& calls, int fd, std::span<std::uint8_t> out,
                                        std::uint64_t offset);

// The stamp of an open file as it is now.
[[nodiscard]] Result<FileStamp> stamp_of(Calls& calls, int fd);

}  // namespace vfsmend::sys
