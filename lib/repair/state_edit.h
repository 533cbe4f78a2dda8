// SPDX-License-Identifier: Apache-2.0
// A state that is being repaired, and the changes that are known to be right (docs/restore.md).
// Ids are never renumbered: the guest holds them. Counts are kept right with each change: an inode
// has what the guest looked up, one for each Path child, and two more if it is the root.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/bytes.h"
#include "manifest/nodemap_check.h"
#include "state/codec.h"
#include "state/fs_state.h"

namespace vfsmend {

class StateEdit {
 public:
  // Takes a decoded state; it borrows from the bytes that it was decoded from.
  explicit StateEdit(Decoded decoded);

  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] ByteVector bytes() const { return encode(state_, dialect_); }

  // Each returns whether it changed anything.
  bool write_root();
  // Lost inodes get their places back, each by a path from the root: its ancestors need no ids. The
  // root is written too, with a reference for each of them.
  bool flatten(std::span<const PlacedNode> places);
  bool drop_lost();  // and write the root
  // With all that hangs below them. Ids that are not there are passed over; the root stays.
  bool drop_inodes(const std::unordered_set<NodeId>& ids);
  bool drop_handles(HandleId id);  // on no inode, or all but the last of that id
  bool correct_count(NodeId id);
  // Above every id that the state named when it was taken: the guest holds what is dropped too.
  bool raise_next_ids();
  bool strip_handles();
  bool change_flags(HandleId id, std::int32_t flags);
  // Of a lost inode: a name in the root of the share.
  bool give_path(NodeId id, std::string_view name);
  // `to` is relative to the share. In a directory that is an inode of the state by its name there,
  // else from the root, with slashes: loaders take both.
  bool rewrite_path(NodeId id, std::string_view to);
  // cube-v1: the directory of a filter inode, absolute. Its name becomes it too where the name was
  // the absolute path already, as in a snapshot of what was restored once.
  bool rewrite_fullname(NodeId id, std::string_view to);

 private:
  [[nodiscard]] Inode* find(NodeId id);
  [[nodiscard]] std::uint64_t children(NodeId id) const;
  [[nodiscard]] NodeId node_at(std::string_view path) const;  // 0: no inode of the state
  void give_back(NodeId parent, std::uint64_t references);

  State state_;
  Dialect dialect_;
  NodeId highest_inode_ = 0;
  HandleId highest_handle_ = 0;
  bool has_handles_ = false;
  std::deque<std::string> names_;  // that the state borrows
};

}  // namespace vfsmend
