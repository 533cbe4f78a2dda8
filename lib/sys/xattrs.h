// SPDX-License-Identifier: Apache-2.0
// Extended attributes of an object, ACLs, capabilities and labels among them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sys/calls.h"

namespace vfsmend::sys {

using Xattrs = std::vector<std::pair<std::string, std::string>>;

// All that this process may see of what `path` names below `dir` (a symbolic link itself; "" for
// `dir`), by name ascending. 0, or a negative errno; a file system without attributes has none. One
// that vanishes between its listing and its reading is left out. What `out` holds before tells what to
// expect: leave in it those of a neighbour.
[[nodiscard]] int read_xattrs(Calls& calls, int dir, const char* path, Xattrs& out);

}  // namespace vfsmend::sys
