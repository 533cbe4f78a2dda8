// SPDX-License-Identifier: Apache-2.0
#include "repair/places.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "sys/read_file.h"
#include "verdict/open_rules.h"
#include "verdict/share.h"

namespace vfsmend {
namespace {

struct Use {
  bool lost = false;
  bool as_directory = false;
  bool as_file = false;
};

std::unordered_map<NodeId, Use> uses_in(const State& state) {
  std::unordered_map<NodeId, Use> uses;
  for (const Inode& inode : state.inodes) {
    if (location_as<Invalid>(inode) && inode.id != kRootId) uses[inode.id].lost = true;
    if (const auto* path = location_as<Path>(inode)) uses[path->parent].as_directory = true;
  }
  for (const Handle& handle : state.handles) {
    Use& use = uses[handle.inode];
    ((handle.flags & kOpenDirectory) != 0 ? use.as_directory : use.as_file) = true;
  }
  return uses;
}

}  // namespace

Places places_for(sys::Calls& calls, const Destination& destination, const State& state,
                  const NodeMap& map) {
  Places out;
  const auto uses = uses_in(state);
  NodeMap wanted;  // of a large map the host is asked only what can be of use
  std::ranges::copy_if(map.entries, std::back_inserter(wanted.entries),
                       [&](const NodeMapEntry& entry) {
                         const auto at = uses.find(entry.node);
                         return at != uses.end() && at->second.lost;
                       });
  const Share share = open_share(calls, destination);
  if (wanted.entries.empty() || !share.fd.valid()) return out;
  NodeMapCheck checked = check_node_map(calls, share.fd.get(), wanted);
  const auto refuse = [&](NodeId node, const std::string& path, const std::string& why) {
    out.refused.push_back(
        fmt::format("inode {}: the map's path /{}: not used: {}", node, path, why));
  };
  for (const RefusedNode& node : checked.refused) refuse(node.node, node.path, node.reason);
  for (PlacedNode& node : checked.placed) {
    const Use& use = uses.at(node.node);
    const bool fits =
        (!use.as_directory || S_ISDIR(node.mode)) && (!use.as_file || S_ISREG(node.mode));
    if (fits) {
      out.nodes.push_back(std::move(node));
    } else {
      refuse(node.node, node.path,
             fmt::format("it is {}, and the guest used {}", sys::kind_of(node.mode),
                         use.as_directory ? "a directory" : "a regular file"));
    }
  }
  return out;
}

}  // namespace vfsmend
