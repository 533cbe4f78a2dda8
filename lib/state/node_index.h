// SPDX-License-Identifier: Apache-2.0
// Node id -> entries of State::inodes, and who hangs below whom. A damaged state may give one id
// to several entries, so ids are mapped to dense slots first and each slot lists its entries.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "state/fs_state.h"

namespace vfsmend {

using EntryIndex = std::uint32_t;  // position in State::inodes
using Slot = std::uint32_t;        // one a distinct node id, ascending by id

inline constexpr std::uint32_t kNoIndex = std::numeric_limits<std::uint32_t>::max();

// More inodes than this are refused: an entry has an EntryIndex. A real daemon's limit is its
// descriptors, a million.
inline constexpr std::size_t kMaxInodes = kNoIndex - 1;

class NodeIndex {
 public:
  // Keeps a reference to `state`: it must outlive the index and keep its inodes.
  explicit NodeIndex(const State& state);

  [[nodiscard]] std::size_t slot_count() const { return ids_.size(); }
  [[nodiscard]] NodeId id_of(Slot slot) const { return ids_[slot]; }
  // The slot of `id`, or kNoIndex. O(1) where ids are dense, else O(log n).
  [[nodiscard]] Slot slot_of(NodeId id) const;
  [[nodiscard]] Slot slot_of_entry(EntryIndex entry) const { return slot_of_entry_[entry]; }

  // The first entry with `id`, or kNoIndex.
  [[nodiscard]] EntryIndex first_entry(NodeId id) const;
  // The entries that bear the id of `slot`, in the order of the state.
  [[nodiscard]] std::span<const EntryIndex> entries(Slot slot) const;
  // Entries whose Path names the id of `slot` as parent (FullPath: the root), in state order.
  [[nodiscard]] std::span<const EntryIndex> children(Slot slot) const;
  // Of those, the ones that are Path: each holds one reference to its parent.
  [[nodiscard]] std::uint64_t path_children(Slot slot) const { return path_children_[slot]; }
  // The slot that `entry` hangs below: kNoIndex if it has no parent or the parent's id is unknown.
  [[nodiscard]] Slot parent_slot(EntryIndex entry) const { return parent_slot_[entry]; }

 private:
  void index_ids(const State& state);
  void index_children(const State& state);

  std::vector<NodeId> ids_;            // by slot, ascending
  std::vector<Slot> dense_;            // by id, where ids are dense enough; else empty
  std::vector<Slot> slot_of_entry_;    // by entry
  std::vector<Slot> parent_slot_;      // by entry
  std::vector<std::uint32_t> entries_begin_;
  std::vector<EntryIndex> entries_;
  std::vector<std::uint32_t> children_begin_;
  std::vector<EntryIndex> children_;
  std::vector<std::uint64_t> path_children_;  // by slot
};

}  // namespace vfsmend
