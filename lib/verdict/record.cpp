// SPDX-License-Identifier: Apache-2.0
#include "verdict/record.h"

#include <sys/stat.h>

#include <algorithm>

#include "verdict/hidden_file.h"

namespace vfsmend {
namespace {

constexpr std::uint32_t kPermissions = 07777;

// What an older record may not have: whether both know the birth time, and it differs.
bool birth_differs(std::int64_t recorded, std::int64_t now) {
  return recorded != kNoTime && now != kNoTime && recorded != now;
}

std::vector<std::pair<std::string, std::string>> labels_of(const sys::Xattrs& xattrs, bool labels) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& xattr : xattrs) {
    if (is_label(xattr.first) == labels) out.push_back(xattr);
  }
  return out;
}

std::uint16_t xattr_changes(const XattrSet& recorded, const sys::Xattrs& now) {
  if (recorded == now) return 0;
  std::uint16_t changes = 0;
  if (labels_of(recorded, true) != labels_of(now, true)) changes |= kOtherLabel;
  if (labels_of(recorded, false) != labels_of(now, false)) changes |= kOtherXattrs;
  return changes;
}

}  // namespace

bool is_label(std::string_view xattr) {
  return xattr == "security.selinux" || xattr.starts_with("security.SMACK64") ||
         xattr == "security.apparmor";
}

Record::Record(const ManifestSection& section, std::int64_t captured_at, const State& state,
               const NodeIndex& index, const LoadOrder& order)
    : section_(section),
      kinds_(section),
      captured_at_(captured_at),
      first_child_(first_child(section.entries)),
      position_(state.inodes.size(), kNoIndex) {
  if (section.entries.size_of() == 0) return;
  const bool has_nodes = std::ranges::any_of(section.entries.node, [](NodeId id) { return id != 0; });
  if (has_nodes) find_by_node(index);
  else find_by_path(state, order);
  for (EntryIndex e = 0; e < state.inodes.size(); ++e) {
    const Location& where = state.inodes[e].location;
    const bool placed = !std::holds_alternative<Invalid>(where);
    if (placed && position_[e] == kNoIndex && !is_hidden(state.inodes[e])) ++unknown_;
  }
}

// A repair put it there, for a file whose bytes the capture kept.
bool Record::is_hidden(const Inode& inode) const {
  const auto* path = location_as<Path>(inode);
  if (path == nullptr || path->parent != kRootId) return false;
  const auto kept = hidden_file(section_, "", inode.id);
  return kept && kept->hidden_name == path->filename;
}

void Record::find_by_node(const NodeIndex& index) {
  const auto& node = section_.entries.node;
  for (std::uint32_t i = 0; i < node.size(); ++i) {
    if (node[i] == 0) continue;
    const Slot slot = index.slot_of(node[i]);
    if (slot == kNoIndex) continue;
    for (const EntryIndex e : index.entries(slot)) position_[e] = i;
  }
}

// A tree that was captured without a state: by the names, from the share down.
void Record::find_by_path(const State& state, const LoadOrder& order) {
  for (const EntryIndex e : order.taken) {
    const Inode& inode = state.inodes[e];
    if (inode.id == kRootId) {
      position_[e] = 0;
      continue;
    }
    const EntryIndex parent = order.parent_entry[e];
    std::uint32_t at = parent == kNoIndex ? kNoIndex : position_[parent];
    const auto* path = location_as<Path>(inode);
    const auto* full = location_as<FullPath>(inode);
    if (at == kNoIndex || (!path && !full)) continue;
    std::string_view rest = path ? path->filename : full->filename;
    while (at != kNoIndex && !rest.empty()) {
      const std::size_t slash = std::min(rest.find('/'), rest.size());
      if (slash > 0) at = find(at, rest.substr(0, slash));
      rest.remove_prefix(std::min(slash + 1, rest.size()));
    }
    position_[e] = at;
  }
}

bool Record::is_known(std::uint32_t position) const {
  return (section_.entries.notes[position] & (kChangedMeanwhile | kVanished)) == 0;
}

std::uint32_t Record::find(std::uint32_t directory, std::string_view name) const {
  return find_entry(section_.entries, first_child_, directory, name);
}

std::uint16_t identity_changes(const ManifestSection& section, const MountKinds& kinds, std::uint32_t position,
                               const ObjectFacts& now, LazyHandle& handle, Today& today) {
  const EntryTable& e = section.entries;
  std::uint16_t changes = 0;
  const bool other_device = section.devices[e.device[position]] != now.device;
  if (other_device) changes |= kOtherDevice;
  const bool same_number = e.ino[position] == now.ino;
  const MountKind kind = kinds.at(position);
  // A FUSE file system makes its handles up anew with every mount.
  const bool lasting = !other_device || kind != MountKind::kFuse;
  // An overlay shows the birth of the copy that a first write makes, and keeps the number.
  const bool has_birth = kind != MountKind::kOverlay;
  bool other = !same_number || (has_birth && birth_differs(e.btime[position], now.btime));
  if (lasting && !e.handle[position].empty() && handle.ask() == 0) {
    const sys::ObjectHandle& found = handle.value();
    other = found.type != e.handle_type[position] || as_text(found.bytes()) != e.handle[position];
    // The copy of one of several links is no link of it, and bears its handle as long as it is cached.
    // Of others the number says less than the handle: it depends on how the overlay was mounted (xino).
    const bool linked = e.nlink[position] > 1 && !S_ISDIR(e.mode[position]);
    other = other || (kind == MountKind::kOverlay && linked && !same_number && !other_device);
    if (other) today.handle = as_text(found.bytes());
  }
  if (other) changes |= kOtherObject;
  if (other && same_number) changes |= kSameNumber;
  if ((e.mode[position] & S_IFMT) != (now.mode & S_IFMT)) changes |= kOtherType;
  return changes;
}

bool Record::is_same(std::uint32_t position, const struct statx& stat, LazyHandle& handle) const {
  Today today;
  return (identity_changes(section_, kinds_, position, facts_of(stat), handle, today) & (kOtherObject | kOtherType)) == 0;
}

std::uint16_t Record::compare(sys::Calls& calls, std::uint32_t position, const struct statx& stat,
                              LazyHandle& handle, Today& today) const {
  const EntryTable& e = section_.entries;
  const ObjectFacts now = facts_of(stat);
  std::uint16_t changes = identity_changes(section_, kinds_, position, now, handle, today);
  const auto differs = [&](bool different, Change bit) {
    if (different) changes |= bit;
  };
  differs(((e.mode[position] ^ now.mode) & kPermissions) != 0, kOtherMode);
  differs(e.uid[position] != now.uid || e.gid[position] != now.gid, kOtherOwner);
  differs(e.size[position] != now.size, kOtherSize);
  differs(e.mtime[position] != now.mtime, kOtherMtime);
  differs(e.ctime[position] != now.ctime, kOtherCtime);
  differs(e.nlink[position] != now.nlink, kOtherLinks);
  differs(e.ctime[position] >= captured_at_ - kClockTick, kUncertain);
  // Whoever changes an attribute moves the ctime.
  const bool readable = (e.notes[position] & kUnreadable) == 0;
  if (readable && (changes & (kOtherCtime | kUncertain | kOtherObject)) != 0 &&
      sys::read_xattrs(calls, handle.dir(), handle.name(), today.xattrs) == 0) {
    changes |= xattr_changes(section_.xattr_sets[e.xattrs[position]], today.xattrs);
  }
  today.facts = now;
  return changes | kCompared;
}

}  // namespace vfsmend
