// SPDX-License-Identifier: Apache-2.0
// A file that is replaced in one step: whoever looks, and whatever is cut short, sees the old
// content or the new one, whole.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sys/changes.h"

namespace vfsmend::sys {

enum class FileMode {
  kPrivate,    // 0600
  kAsBefore,   // that of the file that is replaced, 0600 where there was none
};

// Replaces `file` by `content`, on disk (fsync of the file and of its directory) when it returns.
// Only a regular file or none may stand there: a rename over /dev/null would be felt by the whole
// machine (kUsage). All other errors are kSystem, and leave what was there; but one of the last fsync
// leaves the new content, perhaps not on disk.
//
//  1. the content goes into a file without a name (O_TMPFILE), or where the file system has none
//     into `file`.XXXXXX;   2. fsync;   3. it gets a name beside `file`;   4. rename;   5. fsync of
//     the directory.
[[nodiscard]] Result<void> replace_file(Changes& changes, const std::string& file,
                                        std::string_view content, FileMode mode);

// Looks at a copy on its way: each piece, in order, and `last` has a say before it gets its name.
struct CopyWatch {
  std::function<void(Bytes)> piece;
  std::function<Result<void>()> last;
};

// A copy of the first `size` bytes of an open file, with mode 0600 and on disk, in the same way.
[[nodiscard]] Result<void> copy_to_file(Changes& changes, int from, std::uint64_t size,
                                        const std::string& file, const CopyWatch& watch = {});

// A new file of `size` bytes, which `read` gives piece by piece from their offsets, with mode 0600, in
// the same way. `last` has a say before it gets its name. kUsage where `file` is there already; errors
// of both callers as they are.
[[nodiscard]] Result<void> write_new_file(
    Changes& changes, const std::string& file, std::uint64_t size,
    const std::function<Result<void>(std::uint64_t offset, std::span<std::uint8_t> out)>& read,
    const std::function<Result<void>()>& last);

// Renames `from` over `to`, in one directory, and has that on disk when it returns.
[[nodiscard]] Result<void> move_file(Changes& changes, const std::string& from,
                                     const std::string& to);
// Removes a file, the same.
[[nodiscard]] Result<void> remove_file(Changes& changes, const std::string& file);

}  // namespace vfsmend::sys
