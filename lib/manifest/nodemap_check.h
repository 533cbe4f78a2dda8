// SPDX-License-Identifier: Apache-2.0
// What of a node map the host confirms. The map was made in a guest, and the share may have changed
// since: an entry counts only where the host has, at that path, an object with the very inode
// number that the guest's kernel had cached.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manifest/nodemap.h"
#include "sys/calls.h"

namespace vfsmend {

struct PlacedNode {
  NodeId node = 0;
  std::string path;        // below the share, UTF-8, no ".." in it
  std::uint32_t mode = 0;  // of what is there now
};

struct RefusedNode {
  NodeId node = 0;
  std::string path;
  std::string reason;  // "unlinked", "No such file or directory"
};

struct NodeMapCheck {
  std::vector<PlacedNode> placed;  // by node, each once; never the root
  std::vector<RefusedNode>
      refused;  // by node: those of which no entry counts, with the first reason
};

// `share`: the shared directory (O_PATH does). Names are resolved below it, and no link is
// followed. The root (node 1) is not looked at: it is the share, which the user names.
[[nodiscard]] NodeMapCheck check_node_map(sys::Calls& calls, int share, const NodeMap& map);

}  // namespace vfsmend
