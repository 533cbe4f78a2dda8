// SPDX-License-Identifier: Apache-2.0
#include "verdict/walk_tree.h"

#include <algorithm>
#include <numeric>

namespace vfsmend {

WalkTree::WalkTree(const State& state, const NodeIndex& index, const LoadOrder& order)
    : begin_(state.inodes.size() + 1),
      first_branch_(state.inodes.size()),
      handles_begin_(state.inodes.size() + 1) {
  build_children(order);
  build_handles(state, index, order);
}

void WalkTree::build_children(const LoadOrder& order) {
  const auto parent_of = [&](EntryIndex e) { return order.parent_entry[e]; };
  for (const EntryIndex e : order.taken) {
    if (parent_of(e) == kNoIndex) {
      starts_.push_back(e);
    } else {
      ++begin_[parent_of(e) + 1];
    }
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  // Parents are taken before their children: backwards, each size is whole when it is passed on.
  size_.assign(first_branch_.size(), 1);
  for (auto e = order.taken.rbegin(); e != order.taken.rend(); ++e) {
    if (parent_of(*e) != kNoIndex) size_[parent_of(*e)] += size_[*e];
  }
  children_.resize(begin_.back());
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (const EntryIndex e : order.taken) {
    if (parent_of(e) != kNoIndex) children_[next[parent_of(e)]++] = e;
  }
  for (EntryIndex e = 0; e < first_branch_.size(); ++e) {
    const auto first = children_.begin() + begin_[e];
    const auto last = children_.begin() + begin_[e + 1];
    const auto branch =
        std::stable_partition(first, last, [&](EntryIndex c) { return size_[c] == 1; });
    std::stable_sort(branch, last,
                     [&](EntryIndex a, EntryIndex b) { return size_[a] < size_[b]; });
    first_branch_[e] = static_cast<std::uint32_t>(branch - children_.begin());
  }
}

void WalkTree::build_handles(const State& state, const NodeIndex& index, const LoadOrder& order) {
  const auto entry_of = [&](const Handle& handle) {
    const Slot slot = index.slot_of(handle.inode);
    return slot == kNoIndex ? kNoIndex : order.in_store[slot];
  };
  for (const Handle& handle : state.handles) {
    if (const EntryIndex e = entry_of(handle); e != kNoIndex) ++handles_begin_[e + 1];
  }
  std::partial_sum(handles_begin_.begin(), handles_begin_.end(), handles_begin_.begin());
  handles_.resize(handles_begin_.back());
  std::vector<std::uint32_t> next(handles_begin_.begin(), handles_begin_.end() - 1);
  for (std::uint32_t i = 0; i < state.handles.size(); ++i) {
    if (const EntryIndex e = entry_of(state.handles[i]); e != kNoIndex) handles_[next[e]++] = i;
  }
}

}  // namespace vfsmend
