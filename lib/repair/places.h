// SPDX-License-Identifier: Apache-2.0
// The paths that a node map gives to the inodes of a state that lost theirs.
#pragma once

#include <string>
#include <vector>

#include "manifest/nodemap_check.h"
#include "state/fs_state.h"
#include "sys/calls.h"
#include "verdict/destination.h"

namespace vfsmend {

struct Places {
  std::vector<PlacedNode> nodes;     // of inodes whose location is lost, by id
  std::vector<std::string> refused;  // a text for each of the others that the map names
};

// An entry counts where the share has its object (nodemap_check.h) and where that is of the type
// that the state speaks of: a load would fail at a handle of OPENDIR on a file.
[[nodiscard]] Places places_for(sys::Calls& calls, const Destination& destination,
                                const State& state, const NodeMap& map);

}  // namespace vfsmend
