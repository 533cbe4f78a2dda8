// SPDX-License-Identifier: Apache-2.0
// All names below a directory, by the directories alone: nothing is asked about a file (but its type,
// where the file system does not tell). On several threads, in no order.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "sys/calls.h"

namespace vfsmend::sys {

struct WalkEntry {
  const char* name = nullptr;
  std::uint64_t ino = 0;   // as the directory has it
  bool directory = false;
};

// Calls `visit` with pieces of each directory below `root` (a directory, O_PATH will do), itself
// included, from any thread; `path` is relative to it, "" for itself. Links are not followed, mounts
// are entered, access times stay. False ends the walk soon. `helpers`: threads beside this one; where
// there are some, more help as long as a disk or a server is waited for.
// Returns how many directories could not be read.
std::uint64_t walk_names(
    Calls& calls, int root, unsigned helpers,
    const std::function<bool(const std::string& path, std::span<const WalkEntry> entries)>& visit);

// Opens the directory at `path` below `root`, through no link, in steps where it is too long for one
// call. `flags`: of open(2), for the last step. A descriptor or a negative errno.
[[nodiscard]] int open_below(Calls& calls, int root, std::string_view path, std::uint64_t flags);

}  // namespace vfsmend::sys
