// SPDX-License-Identifier: Apache-2.0
// One object of a share, looked at without being opened (but for its content, where a hash is
// wanted): everything that a manifest says of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "manifest/content_hash.h"
#include "sys/calls.h"
#include "sys/object_handle.h"
#include "sys/xattrs.h"

namespace vfsmend {

struct ObjectFacts {
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t nlink = 0;
  std::uint64_t size = 0;
  std::uint64_t device = 0;  // makedev()
  std::uint64_t ino = 0;
  std::uint64_t rdev = 0;
  std::uint64_t mount_id = 0;
  std::int64_t mtime = 0;  // ns since 1970; kNoTime: not known
  std::int64_t ctime = 0;
  std::int64_t btime = 0;
};

inline constexpr unsigned kObjectMask = STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID;

[[nodiscard]] ObjectFacts facts_of(const struct statx& stat);

// What changes of an object that is written to, renamed, or replaced by another under its name.
[[nodiscard]] bool is_untouched(const ObjectFacts& before, const ObjectFacts& after);

struct Object {
  ObjectFacts facts;
  sys::ObjectHandle handle;  // size 0: the file system has none
  sys::Xattrs xattrs;
  std::string target;  // of a symbolic link
  std::optional<ContentHash> hash;
};

enum class LookEnd {
  kWhole,
  kVanished,    // there is nothing under this name any more
  kChanging,    // it changed each time that it was looked at
  kUnreadable,  // Look::err: what is in Object was learned before that
};

struct Look {
  LookEnd end = LookEnd::kWhole;
  int err = 0;
  const char* what = "";  // what could not be read: "extended attributes"
};

struct LookOptions {
  std::int64_t began = 0;  // clock (ns since 1970): what changed after that is looked at once more
  // A hash is wanted of a regular file of so many bytes: asked each time before they are read, since
  // a file may grow meanwhile. Nothing: of none.
  std::function<bool(std::uint64_t bytes)> may_hash;
};

// What `name` is below `dir`, a symbolic link itself ("" for `dir`). An object that changes while
// it is looked at is looked at again, a few times. Access times stay as they are.
[[nodiscard]] Look look_at(sys::Calls& calls, int dir, const char* name, const LookOptions& options,
                           Object& out);

// Opens a regular file for reading, without a trace: no access time, no waiting for a FIFO, no
// link followed. A descriptor or a negative errno.
[[nodiscard]] int open_content(sys::Calls& calls, int dir, const char* name);

// Realtime clock, ns since 1970, of the coarse kind that file systems stamp with.
[[nodiscard]] std::int64_t file_clock();

// "2026-01-31T12:00:00Z", without the fraction.
[[nodiscard]] std::string utc_text(std::int64_t ns);

// Two changes closer to one another than this may bear the same ctime.
inline constexpr std::int64_t kClockTick = 20'000'000;  // ns

}  // namespace vfsmend
