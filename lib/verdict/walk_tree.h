// SPDX-License-Identifier: Apache-2.0
// The entries that a loader takes, as a forest: who is opened in whose directory. Children that
// have children of their own (branches) are listed smallest subtree first.
#pragma once

#include <span>
#include <vector>

#include "state/node_index.h"
#include "verdict/load_order.h"

namespace vfsmend {

class WalkTree {
 public:
  WalkTree(const State& state, const NodeIndex& index, const LoadOrder& order);

  // Entries that hang below no other, in the order they are taken.
  [[nodiscard]] std::span<const EntryIndex> starts() const { return starts_; }
  [[nodiscard]] bool has_children(EntryIndex e) const { return begin_[e] != begin_[e + 1]; }
  [[nodiscard]] std::span<const EntryIndex> leaves(EntryIndex e) const {
    return std::span(children_).subspan(begin_[e], first_branch_[e] - begin_[e]);
  }
  [[nodiscard]] std::span<const EntryIndex> branches(EntryIndex e) const {
    return std::span(children_).subspan(first_branch_[e], begin_[e + 1] - first_branch_[e]);
  }
  // Entries in the subtree, itself included.
  [[nodiscard]] std::uint32_t size(EntryIndex e) const { return size_[e]; }
  // Positions in State::handles of the handles on the inode that `e` is in the store.
  [[nodiscard]] std::span<const std::uint32_t> handles(EntryIndex e) const {
    return std::span(handles_).subspan(handles_begin_[e], handles_begin_[e + 1] - handles_begin_[e]);
  }

 private:
  void build_children(const LoadOrder& order);
  void build_handles(const State& state, const NodeIndex& index, const LoadOrder& order);

  std::vector<EntryIndex> starts_;
  std::vector<std::uint32_t> begin_;         // by entry, into children_
  std::vector<std::uint32_t> first_branch_;  // by entry, into children_
  std::vector<std::uint32_t> size_;          // by entry
  std::vector<EntryIndex> children_;         // of each: leaves, then branches by size
  std::vector<std::uint32_t> handles_begin_;
  std::vector<std::uint32_t> handles_;
};

}  // namespace vfsmend
