// SPDX-License-Identifier: Apache-2.0
#include "manifest/scope.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace vfsmend {
namespace {

// Where an entry of the state hangs, and by which name: nothing for the root and what is lost.
struct Link {
  Slot parent = kNoIndex;
  std::string_view name;
};

Link link_of(const State& state, const NodeIndex& index, EntryIndex entry) {
  const Inode& inode = state.inodes[entry];
  if (const auto* path = location_as<Path>(inode)) {
    const bool bound = path->fullname.starts_with('/');
    return {index.slot_of(path->parent), bound ? path->fullname : path->filename};
  }
  if (const auto* path = location_as<FullPath>(inode)) {
    return {index.slot_of(kRootId), path->filename};
  }
  return {};
}

}  // namespace

Scope::Scope() : names_(1) {}

Scope::Scope(const State& state, const NodeIndex& index,
             const std::unordered_map<NodeId, std::string>& paths)
    : Scope() {
  add_inodes(state, index, paths);
}

// A state may list children before their parents, and be damaged: each slot is placed once, by
// climbing to a slot that has its place and coming down again.
void Scope::add_inodes(const State& state, const NodeIndex& index,
                       const std::unordered_map<NodeId, std::string>& paths) {
  constexpr std::uint32_t kUnknown = kNoIndex;
  constexpr std::uint32_t kNowhere = kNoIndex - 1;
  std::vector<std::uint32_t> place(index.slot_count(), kUnknown);
  std::vector<Slot> way;
  for (Slot start = 0; start < index.slot_count(); ++start) {
    way.clear();
    Slot slot = start;
    while (slot != kNoIndex && place[slot] == kUnknown && index.id_of(slot) != kRootId) {
      const auto by_handle = paths.find(index.id_of(slot));
      if (by_handle != paths.end()) {
        place[slot] = std::min(add_path(0, by_handle->second), kNowhere);
        break;
      }
      place[slot] = kNowhere;  // until it is known; a circle ends here
      way.push_back(slot);
      slot = link_of(state, index, index.entries(slot).front()).parent;
    }
    std::uint32_t at = kNowhere;
    if (slot != kNoIndex) at = index.id_of(slot) == kRootId ? 0 : place[slot];
    if (slot != kNoIndex && index.id_of(slot) == kRootId) place[slot] = 0;
    for (; !way.empty(); way.pop_back()) {
      const Link link = link_of(state, index, index.entries(way.back()).front());
      if (at != kNowhere) at = link.name.empty() ? kNowhere : add_path(at, link.name);
      at = std::min(at, kNowhere);
      place[way.back()] = at;
    }
  }
  for (Slot slot = 0; slot < index.slot_count(); ++slot) {
    // Several may lead to one place, as "." does: it is that of the first, the share that of the root.
    if (place[slot] < kNowhere && names_[place[slot]].node == 0) {
      names_[place[slot]].node = index.id_of(slot);
    }
  }
  for (const Handle& handle : state.handles) {
    const Slot slot = index.slot_of(handle.inode);
    if (slot != kNoIndex && place[slot] < kNowhere) names_[place[slot]].open = true;
  }
}

std::uint32_t Scope::add_name(std::uint32_t parent, std::string_view text) {
  const auto [at, is_new] = known_.try_emplace(fmt::format("{}/{}", parent, text),
                                               static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.push_back({parent, std::string(text), 0, false});
  return at->second;
}

std::uint32_t Scope::add_path(std::uint32_t below, std::string_view path) {
  if (path.find('\0') != std::string_view::npos) return kNoIndex;
  if (below == 0 && path.starts_with('/')) return add_name(0, path);
  std::uint32_t at = below;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view component = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (component == "..") return kNoIndex;
    if (!component.empty() && component != ".") at = add_name(at, component);
  }
  return at;
}

void Scope::finish() {
  known_.clear();
  // The root first, then by directory; positions of directories change with their own.
  std::vector<std::uint32_t> count(names_.size() + 1);
  for (std::size_t i = 1; i < names_.size(); ++i) ++count[names_[i].parent + 1];
  std::partial_sum(count.begin(), count.end(), count.begin());
  std::vector<std::uint32_t> by_parent(names_.size() - 1);
  std::vector<std::uint32_t> next(count.begin(), count.end() - 1);
  for (std::uint32_t i = 1; i < names_.size(); ++i) by_parent[next[names_[i].parent]++] = i;
  const auto begin = by_parent.begin();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    std::sort(begin + count[i], begin + count[i + 1], [this](std::uint32_t a, std::uint32_t b) {
      return names_[a].text < names_[b].text;
    });
  }
  // Breadth first: a directory's names come one after the other.
  std::vector<Name> sorted;
  sorted.reserve(names_.size());
  sorted.push_back(std::move(names_[0]));
  std::vector<std::uint32_t> old_of = {0};
  children_.assign(1, 1);
  for (std::size_t at = 0; at < sorted.size(); ++at) {
    for (std::uint32_t i = count[old_of[at]]; i < count[old_of[at] + 1]; ++i) {
      sorted.push_back(std::move(names_[by_parent[i]]));
      sorted.back().parent = static_cast<std::uint32_t>(at);
      old_of.push_back(by_parent[i]);
    }
    children_.push_back(static_cast<std::uint32_t>(sorted.size()));
  }
  names_ = std::move(sorted);
}

}  // namespace vfsmend
