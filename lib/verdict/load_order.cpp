// SPDX-License-Identifier: Apache-2.0
#include "verdict/load_order.h"

#include <numeric>

#include "verdict/index_set.h"

namespace vfsmend {
namespace {

// The loader's list and store.
//
// 1. `list_` holds the entries that are not taken yet; `position_` says where each stands.
// 2. `ready_` is the set of positions whose entry would be taken if the pass came by now.
// 3. Taking an entry swaps the last of the list into its place, as the loader does, and may make
//    entries ready (its children) or not ready (the children of a parent that it evicted).
class Run {
 public:
  Run(const State& state, const NodeIndex& index)
      : state_(state), index_(index), ready_(state.inodes.size()) {
    const std::size_t inodes = state.inodes.size();
    list_.resize(inodes);
    std::iota(list_.begin(), list_.end(), 0U);
    position_ = list_;
    out_.taken.reserve(inodes);
    out_.evicted.reserve(inodes);
    out_.parent_entry.assign(inodes, kNoIndex);
    out_.in_store.assign(index.slot_count(), kNoIndex);
    out_.refcount.assign(index.slot_count(), 0);
    for (EntryIndex i = 0; i < inodes; ++i) {
      if (is_ready(i)) ready_.insert(i);
    }
  }

  LoadOrder run() {
    if (!state_.mount_paths.empty() && !state_.inodes.empty()) take_root_first();
    while (!list_.empty() && out_.error == GraphError::kNone) {
      if (!pass()) out_.error = GraphError::kUnresolved;
    }
    return std::move(out_);
  }

 private:
  // One pass over the list. False: nothing was taken.
  bool pass() {
    bool taken = false;
    std::size_t at = ready_.next(0);
    while (at != IndexSet::kEnd) {
      taken = true;
      take(list_[at]);
      if (out_.error != GraphError::kNone) break;
      at = ready_.next(at);  // the entry that moved here is tried at once
    }
    return taken;
  }

  // Mount paths lie below the root, so the loader takes it before everything else.
  void take_root_first() {
    const EntryIndex root = index_.first_entry(kRootId);
    if (root == kNoIndex) {
      out_.error = GraphError::kNoRoot;
      return;
    }
    if (!location_as<RootNode>(state_.inodes[root])) {
      remove_from_list(root);
      out_.taken.push_back(root);
      out_.evicted.push_back(kNoIndex);
      out_.error = GraphError::kRootNotRoot;
      return;
    }
    take(root);
  }

  // An entry is ready if the loader would do anything with it but step over it: a refusal counts.
  [[nodiscard]] bool is_ready(EntryIndex entry) const {
    const Inode& inode = state_.inodes[entry];
    if (inode.id == kRootId) return true;
    if (!location_as<Path>(inode) && !location_as<FullPath>(inode)) return true;
    const Slot parent = index_.parent_slot(entry);
    if (parent == kNoIndex || out_.in_store[parent] == kNoIndex) return false;
    // A FullPath needs a new reference to the root, which a count of zero does not give.
    return location_as<Path>(inode) || out_.refcount[parent] > 0;
  }

  void take(EntryIndex entry) {
    const Inode& inode = state_.inodes[entry];
    remove_from_list(entry);
    out_.taken.push_back(entry);
    out_.evicted.push_back(kNoIndex);
    out_.error = refusal(inode);
    if (out_.error != GraphError::kNone) return;
    const Slot parent = index_.parent_slot(entry);
    if (parent != kNoIndex) {
      out_.parent_entry[entry] = out_.in_store[parent];
      if (location_as<Path>(inode)) give_back(parent);
    }
    put_into_store(entry);
  }

  static GraphError refusal(const Inode& inode) {
    const bool is_root = inode.id == kRootId;
    if (location_as<RootNode>(inode)) {
      return is_root ? GraphError::kNone : GraphError::kSecondRoot;
    }
    if (!is_root || location_as<Invalid>(inode)) return GraphError::kNone;
    return location_as<HandleLocation>(inode) ? GraphError::kRootGivenHandle
                                              : GraphError::kRootGivenPath;
  }

  void put_into_store(EntryIndex entry) {
    const Slot slot = index_.slot_of_entry(entry);
    if (out_.in_store[slot] != kNoIndex) {
      out_.error = GraphError::kDoubleUse;
      return;
    }
    out_.in_store[slot] = entry;
    out_.refcount[slot] = state_.inodes[entry].refcount;
    update_children(slot);
  }

  void give_back(Slot parent) {
    std::uint64_t& count = out_.refcount[parent];
    if (count > 0) --count;
    if (count > 0) return;
    out_.evicted.back() = out_.in_store[parent];
    out_.in_store[parent] = kNoIndex;
    update_children(parent);
  }

  void update_children(Slot slot) {
    for (const EntryIndex child : index_.children(slot)) {
      if (position_[child] == kNoIndex) continue;
      if (is_ready(child)) {
        ready_.insert(position_[child]);
      } else {
        ready_.erase(position_[child]);
      }
    }
  }

  // swap_remove: the last entry takes the place of the one that goes.
  void remove_from_list(EntryIndex entry) {
    const EntryIndex place = position_[entry];
    const EntryIndex last = list_.back();
    const std::size_t end = list_.size() - 1;
    const bool last_ready = ready_.contains(end);
    ready_.erase(place);
    ready_.erase(end);
    list_[place] = last;
    position_[last] = place;
    position_[entry] = kNoIndex;
    list_.pop_back();
    if (last != entry && last_ready) ready_.insert(place);
  }

  const State& state_;
  const NodeIndex& index_;
  LoadOrder out_;
  std::vector<EntryIndex> list_;
  std::vector<EntryIndex> position_;
  IndexSet ready_;
};

}  // namespace

LoadOrder load_order(const State& state, const NodeIndex& index) {
  return Run(state, index).run();
}

}  // namespace vfsmend
