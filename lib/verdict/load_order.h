// SPDX-License-Identifier: Apache-2.0
// In which order a loader takes the inodes of a state, and what its store holds afterwards. Only
// the graph decides this, never the host: the order can be computed before anything is looked at.
//
// The loader keeps a list and works through it in passes. At each position it tries the entry: one
// whose parent is in the store is taken, and the last entry of the list moves to its place; one
// that must wait is stepped over. A pass that takes nothing is the end: "Unresolved references".
// Run literally this is quadratic for a deep chain (each pass finds one entry). Here a set of the
// positions that are ready answers "what does the pass take next" at once, so the whole run is
// linear in the number of inodes, and the order is the loader's own to the last entry.
//
// Each Path child gives one reference of its parent back when it has been opened. At zero the
// parent leaves the store, and children that still wait for it wait for ever.
#pragma once

#include <cstdint>
#include <vector>

#include "state/node_index.h"

namespace vfsmend {

// What ends a load for the graph alone, whatever the error policy.
enum class GraphError {
  kNone,
  kNoRoot,             // mount paths, but no inode 1           "Received no root node .."
  kRootNotRoot,        // mount paths, inode 1 is no RootNode   "Root node has not been .."
  kRootGivenPath,      // inode 1 is Path or FullPath           "Refusing to use path .."
  kRootGivenHandle,    // inode 1 is a file handle              "Refusing to use file handle .."
  kSecondRoot,         // RootNode with another id              "Node with non-root ID .."
  kDoubleUse,          // the id is in the store already        "Double-use of FUSE inode ID .."
  kUnresolved,         // nothing can be taken any more         "Unresolved references .."
};

struct LoadOrder {
  // Entries as the loader takes them. Where `error` is found at an entry, that is the last one.
  std::vector<EntryIndex> taken;
  // By entry: the entry that was the parent in the store when this one was taken, or kNoIndex.
  std::vector<EntryIndex> parent_entry;
  // By position in `taken`: the entry that left the store for it (its parent), or kNoIndex.
  std::vector<EntryIndex> evicted;
  // By slot: the entry in the store at the end, or kNoIndex.
  std::vector<EntryIndex> in_store;
  // By slot: what the store's reference count is at the end. Only where in_store has an entry.
  std::vector<std::uint64_t> refcount;
  GraphError error = GraphError::kNone;
};

[[nodiscard]] LoadOrder load_order(const State& state, const NodeIndex& index);

}  // namespace vfsmend
