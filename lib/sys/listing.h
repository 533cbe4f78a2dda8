// SPDX-License-Identifier: Apache-2.0
// The names in a directory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "sys/calls.h"

namespace vfsmend::sys {

// Calls `name` for each entry but "." and ".." of a directory that is open for reading, from where
// it is read next, until it returns false: then 1. 0 at the end of the directory, or a negative
// errno. `buffer`: for getdents64(2); how much is read ahead.
[[nodiscard]] int for_each_name(Calls& calls, int fd, std::span<std::uint8_t> buffer,
                                const std::function<bool(const char* name)>& name);

}  // namespace vfsmend::sys
