// SPDX-License-Identifier: Apache-2.0
#include "repair/state_edit.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace vfsmend {
namespace {

constexpr std::uint64_t kRootLookups = 2;  // what a daemon gives the root beside its children

}  // namespace

StateEdit::StateEdit(Decoded decoded) : state_(std::move(decoded.state)), dialect_(decoded.dialect) {
  const auto see = [](std::uint64_t id, std::uint64_t& highest) {
    if (id != UINT64_MAX) highest = std::max(highest, id);  // nothing is above that one
  };
  for (const Inode& inode : state_.inodes) {
    see(inode.id, highest_inode_);
    if (const auto* path = location_as<Path>(inode)) see(path->parent, highest_inode_);
  }
  for (const Handle& handle : state_.handles) {
    see(handle.inode, highest_inode_);
    see(handle.id, highest_handle_);
  }
  has_handles_ = !state_.handles.empty();
}

Inode* StateEdit::find(NodeId id) {
  const auto at = std::ranges::find(state_.inodes, id, &Inode::id);
  return at == state_.inodes.end() ? nullptr : &*at;
}

std::uint64_t StateEdit::children(NodeId id) const {
  return static_cast<std::uint64_t>(std::ranges::count_if(state_.inodes, [&](const Inode& inode) {
    const auto* path = location_as<Path>(inode);
    return path && path->parent == id;
  }));
}

// Children less: the parent loses the references that stood for them, unless it never had them.
void StateEdit::give_back(NodeId parent, std::uint64_t references) {
  Inode* const above = find(parent);
  if (above == nullptr) return;
  const std::uint64_t least = children(parent) + (parent == kRootId ? kRootLookups : 0);
  if (above->refcount > least) above->refcount -= std::min(references, above->refcount - least);
}

bool StateEdit::write_root() {
  Inode* root = find(kRootId);
  if (root == nullptr) {
    state_.inodes.insert(state_.inodes.begin(), Inode{kRootId, 0, RootNode{}, std::nullopt});
    root = &state_.inodes.front();
  } else if (location_as<RootNode>(*root)) {
    return false;
  }
  root->location = RootNode{};
  root->file_handle.reset();  // of what was lost nothing is known
  root->refcount = std::max(root->refcount, children(kRootId) + kRootLookups);
  if (state_.next_inode <= kRootId) state_.next_inode = kRootId + 1;
  return true;
}

bool StateEdit::flatten(std::span<const PlacedNode> places) {
  std::unordered_map<NodeId, const PlacedNode*> by_id;
  for (const PlacedNode& place : places) by_id.emplace(place.node, &place);
  bool changed = false;
  for (Inode& inode : state_.inodes) {
    const auto at = by_id.find(inode.id);
    if (at == by_id.end() || inode.id == kRootId || !location_as<Invalid>(inode)) continue;
    names_.push_back(at->second->path);
    inode.location = Path{kRootId, names_.back(), {}};
    changed = true;
  }
  if (!changed) return false;
  write_root();
  Inode& root = *find(kRootId);
  root.refcount = std::max(root.refcount, children(kRootId) + kRootLookups);
  return true;
}

bool StateEdit::drop_lost() {
  std::erase_if(state_.inodes, [](const Inode& inode) {
    return inode.id != kRootId && location_as<Invalid>(inode);
  });
  std::unordered_set<NodeId> left;
  for (const Inode& inode : state_.inodes) left.insert(inode.id);
  left.erase(kRootId);  // a handle on the lost root is lost with it
  std::erase_if(state_.handles, [&](const Handle& handle) { return !left.contains(handle.inode); });
  write_root();
  return true;
}

bool StateEdit::drop_inodes(const std::unordered_set<NodeId>& ids) {
  std::unordered_multimap<NodeId, NodeId> below;
  std::vector<NodeId> waiting;
  for (const Inode& inode : state_.inodes) {
    if (const auto* at = location_as<Path>(inode)) below.emplace(at->parent, inode.id);
    if (inode.id != kRootId && ids.contains(inode.id)) waiting.push_back(inode.id);
  }
  std::unordered_set<NodeId> gone(waiting.begin(), waiting.end());
  while (!waiting.empty()) {
    const NodeId next = waiting.back();
    waiting.pop_back();
    const auto [begin, end] = below.equal_range(next);
    for (auto at = begin; at != end; ++at) {
      if (at->second != kRootId && gone.insert(at->second).second) waiting.push_back(at->second);
    }
  }
  if (gone.empty()) return false;
  std::unordered_map<NodeId, std::uint64_t> lost;  // references, by parent that stays
  for (const Inode& inode : state_.inodes) {
    const auto* at = location_as<Path>(inode);
    if (at && gone.contains(inode.id) && !gone.contains(at->parent)) ++lost[at->parent];
  }
  std::erase_if(state_.inodes, [&](const Inode& inode) { return gone.contains(inode.id); });
  std::erase_if(state_.handles, [&](const Handle& handle) { return gone.contains(handle.inode); });
  for (const auto& [parent, references] : lost) give_back(parent, references);
  return true;
}

bool StateEdit::drop_handles(HandleId id) {
  std::unordered_set<NodeId> known;
  for (const Inode& inode : state_.inodes) known.insert(inode.id);
  const std::size_t before = state_.handles.size();
  std::erase_if(state_.handles, [&](const Handle& handle) {
    return handle.id == id && !known.contains(handle.inode);
  });
  auto left = static_cast<std::size_t>(std::ranges::count(state_.handles, id, &Handle::id));
  std::erase_if(state_.handles, [&](const Handle& handle) { return handle.id == id && left-- > 1; });
  return state_.handles.size() != before;
}

bool StateEdit::correct_count(NodeId id) {
  Inode* const inode = find(id);
  if (inode == nullptr) return false;
  const std::uint64_t least = children(id) + (id == kRootId ? kRootLookups : 1);
  if (inode->refcount >= least) return false;
  inode->refcount = least;
  return true;
}

bool StateEdit::raise_next_ids() {
  const NodeId inode = state_.next_inode;
  const HandleId handle = state_.next_handle;
  if (!state_.inodes.empty()) state_.next_inode = std::max(inode, highest_inode_ + 1);
  if (has_handles_) state_.next_handle = std::max(handle, highest_handle_ + 1);
  return state_.next_inode != inode || state_.next_handle != handle;
}

bool StateEdit::strip_handles() {
  bool changed = false;
  for (Inode& inode : state_.inodes) {
    changed = changed || inode.file_handle.has_value();
    inode.file_handle.reset();
  }
  return changed;
}

bool StateEdit::change_flags(HandleId id, std::int32_t flags) {
  bool changed = false;
  for (Handle& handle : state_.handles) {
    if (handle.id != id || handle.flags == flags) continue;
    handle.flags = flags;
    changed = true;
  }
  return changed;
}

// From the root down, by the names of the state.
NodeId StateEdit::node_at(std::string_view path) const {
  NodeId at = kRootId;
  while (!path.empty() && at != 0) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    const auto child = std::ranges::find_if(state_.inodes, [&](const Inode& inode) {
      const auto* where = location_as<Path>(inode);
      return where && where->parent == at && where->filename == name;
    });
    at = child == state_.inodes.end() ? 0 : child->id;
  }
  return at;
}

bool StateEdit::give_path(NodeId id, std::string_view name) {
  Inode* const inode = find(id);
  if (inode == nullptr || id == kRootId || !location_as<Invalid>(*inode)) return false;
  names_.emplace_back(name);
  inode->location = Path{kRootId, names_.back(), {}};
  if (Inode* const root = find(kRootId)) ++root->refcount;
  return true;
}

bool StateEdit::rewrite_path(NodeId id, std::string_view to) {
  Inode* const inode = find(id);
  auto* const path = inode ? std::get_if<Path>(&inode->location) : nullptr;
  if (path == nullptr || to.empty()) return false;
  const std::size_t slash = to.rfind('/');
  const std::string_view above = slash == std::string_view::npos ? std::string_view() : to.substr(0, slash);
  const NodeId known = node_at(above);
  // Its own subtree is no place for it: the name was taken before it moved.
  const NodeId parent = known == 0 || known == id ? kRootId : known;
  names_.emplace_back(parent == known && slash != std::string_view::npos ? to.substr(slash + 1) : to);
  if (path->parent == parent && path->filename == names_.back()) return false;
  const NodeId before = path->parent;
  path->parent = parent;
  path->filename = names_.back();
  path->fullname = {};
  if (before != parent) {
    if (Inode* const now = find(parent)) ++now->refcount;
    give_back(before, 1);
  }
  return true;
}

bool StateEdit::rewrite_fullname(NodeId id, std::string_view to) {
  Inode* const inode = find(id);
  auto* const path = inode ? std::get_if<Path>(&inode->location) : nullptr;
  if (path == nullptr || !path->fullname.starts_with('/') || path->fullname == to) return false;
  names_.emplace_back(to);
  if (path->filename.starts_with('/')) path->filename = names_.back();
  path->fullname = names_.back();
  return true;
}

}  // namespace vfsmend
