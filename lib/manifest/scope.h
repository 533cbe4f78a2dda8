// SPDX-License-Identifier: Apache-2.0
// Which names of a share a capture looks at, as a tree: those of a state's inodes with the
// directories that lead to them, and the mount points below the share. Nothing of it depends on
// the size of the share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "state/node_index.h"

namespace vfsmend {

class Scope {
 public:
  struct Name {
    std::uint32_t parent = 0;  // position; of the root, which is the first, itself
    std::string text;  // one component; absolute for CubeSandbox's binds, which hang below the root
    NodeId node = 0;   // 0: only on the way
    bool open = false; // the guest has it open
  };

  Scope();
  // All located inodes of `state`: by Path and FullPath. Inodes that are located by handle have no
  // name; `paths` gives the ones that were found, by node id, relative to the share. What leads
  // nowhere (a parent that is lost, a circle, "..") is left out.
  Scope(const State& state, const NodeIndex& index,
        const std::unordered_map<NodeId, std::string>& paths);

  // Adds what leads to `path`, relative to the share. Returns its position, or kNoIndex if it has
  // a component "..". May be called until finish().
  std::uint32_t add_path(std::uint32_t below, std::string_view path);
  // Sorts: afterwards names of a directory are contiguous and ascending, as bytes.
  void finish();

  [[nodiscard]] std::span<const Name> names() const { return names_; }
  // Positions [first, second) of the names in the directory at `position`.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> children(std::uint32_t position) const {
    return {children_[position], children_[position + 1]};
  }

 private:
  void add_inodes(const State& state, const NodeIndex& index,
                  const std::unordered_map<NodeId, std::string>& paths);
  std::uint32_t add_name(std::uint32_t parent, std::string_view text);

  std::vector<Name> names_;
  std::vector<std::uint32_t> children_;
  std::unordered_map<std::string, std::uint32_t> known_;  // "<parent>/<text>" -> position
};

}  // namespace vfsmend
