// SPDX-License-Identifier: Apache-2.0
// The names in a directory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "sys/calls.h"

namespace vfsmend::sys {

// Calls `entry` for each but "." and ".." of a directory that is open for reading, from where it is
// read next, until it returns false: then 1. 0 at the end of the directory, or a negative errno.
// `ino`: as the directory has it, which for a mount point is what the mount hides. `buffer`: for
// getdents64(2); how much is read ahead.
[[nodiscard]] int for_each_name(
    Calls& calls, int fd, std::span<std::uint8_t> buffer,
    const std::function<bool(const char* name, std::uint64_t ino)>& entry);

}  // namespace vfsmend::sys
