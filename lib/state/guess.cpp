// SPDX-License-Identifier: Apache-2.0
#include "state/guess.h"

#include <algorithm>

#include "state/node_index.h"

namespace vfsmend {
namespace {

bool handles_are_sound(const State& state, const NodeIndex& index) {
  std::vector<HandleId> ids;
  ids.reserve(state.handles.size());
  for (const Handle& handle : state.handles) {
    if (handle.id >= state.next_handle || index.slot_of(handle.inode) == kNoIndex) return false;
    ids.push_back(handle.id);
  }
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) == ids.end();
}

int rank(const Decoded& decoded, std::size_t size) {
  if (decoded.consumed != size) return 1;
  return looks_healthy(decoded.state) ? 3 : 2;
}

}  // namespace

bool looks_healthy(const State& state) {
  if (state.inodes.size() > kMaxInodes || state.next_inode < 2) return false;
  const NodeIndex index(state);
  if (index.slot_count() != state.inodes.size()) return false;  // an id twice
  for (EntryIndex i = 0; i < state.inodes.size(); ++i) {
    const Inode& inode = state.inodes[i];
    if (inode.id == 0 || inode.id >= state.next_inode) return false;
    // An Invalid root is what a pause without preparation leaves: healthy bytes, lost locations.
    const bool may_be_root = location_as<RootNode>(inode) || location_as<Invalid>(inode);
    if (inode.id == kRootId ? !may_be_root : location_as<RootNode>(inode) != nullptr) return false;
    if (location_as<Path>(inode) && index.parent_slot(i) == kNoIndex) return false;
  }
  if (!state.inodes.empty() && index.slot_of(kRootId) == kNoIndex) return false;
  return handles_are_sound(state, index);
}

std::optional<Decoded> decode_guessing(Bytes bytes) {
  std::optional<Decoded> best;
  for (const Reader reader : {Reader::kVirtiofsd, Reader::kCube}) {
    auto decoded = decode(bytes, reader);
    if (!decoded) continue;
    if (!best || rank(*decoded, bytes.size()) > rank(*best, bytes.size())) {
      best = std::move(*decoded);
    }
  }
  return best;
}

std::optional<Dialect> guess_dialect(Bytes bytes) {
  const auto guess = decode_guessing(bytes);
  return guess ? std::optional(guess->dialect) : std::nullopt;
}

}  // namespace vfsmend
