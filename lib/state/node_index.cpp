// SPDX-License-Identifier: Apache-2.0
#include "state/node_index.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace vfsmend {
namespace {

// Groups the items 0..keys.size()-1 by their key (kNoIndex: in no group), each group in item order.
void group_by(const std::vector<Slot>& keys, std::size_t groups, std::vector<std::uint32_t>& begin,
              std::vector<EntryIndex>& items) {
  begin.assign(groups + 1, 0);
  for (const Slot key : keys) {
    if (key != kNoIndex) ++begin[key + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  items.resize(begin.back());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (EntryIndex i = 0; i < keys.size(); ++i) {
    if (keys[i] != kNoIndex) items[next[keys[i]]++] = i;
  }
}

}  // namespace

NodeIndex::NodeIndex(const State& state) {
  VFSMEND_CHECK(state.inodes.size() <= kMaxInodes);
  index_ids(state);
  index_children(state);
}

void NodeIndex::index_ids(const State& state) {
  ids_.reserve(state.inodes.size());
  for (const Inode& inode : state.inodes) ids_.push_back(inode.id);
  if (!std::is_sorted(ids_.begin(), ids_.end())) std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  // Ids are given out one after another and forgotten in between: a table by id is small unless
  // the state is damaged or very old.
  if (!ids_.empty() && ids_.back() / 8 <= ids_.size() + 1024) {
    dense_.assign(ids_.back() + 1, kNoIndex);
    for (Slot s = 0; s < ids_.size(); ++s) dense_[ids_[s]] = s;
  }
  slot_of_entry_.reserve(state.inodes.size());
  for (const Inode& inode : state.inodes) slot_of_entry_.push_back(slot_of(inode.id));
  group_by(slot_of_entry_, ids_.size(), entries_begin_, entries_);
}

void NodeIndex::index_children(const State& state) {
  const Slot root = slot_of(kRootId);
  parent_slot_.reserve(state.inodes.size());
  path_children_.assign(ids_.size(), 0);
  for (const Inode& inode : state.inodes) {
    Slot parent = kNoIndex;
    if (const auto* path = location_as<Path>(inode)) {
      parent = slot_of(path->parent);
      if (parent != kNoIndex) ++path_children_[parent];
    } else if (location_as<FullPath>(inode)) {
      parent = root;
    }
    parent_slot_.push_back(parent);
  }
  group_by(parent_slot_, ids_.size(), children_begin_, children_);
}

Slot NodeIndex::slot_of(NodeId id) const {
  if (!dense_.empty()) return id < dense_.size() ? dense_[id] : kNoIndex;
  const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (at == ids_.end() || *at != id) return kNoIndex;
  return static_cast<Slot>(at - ids_.begin());
}

EntryIndex NodeIndex::first_entry(NodeId id) const {
  const Slot slot = slot_of(id);
  return slot == kNoIndex ? kNoIndex : entries_[entries_begin_[slot]];
}

std::span<const EntryIndex> NodeIndex::entries(Slot slot) const {
  return std::span(entries_).subspan(entries_begin_[slot],
                                     entries_begin_[slot + 1] - entries_begin_[slot]);
}

std::span<const EntryIndex> NodeIndex::children(Slot slot) const {
  return std::span(children_).subspan(children_begin_[slot],
                                      children_begin_[slot + 1] - children_begin_[slot]);
}

}  // namespace vfsmend
