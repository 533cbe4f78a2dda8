// SPDX-License-Identifier: Apache-2.0
#include "verdict/mount_kinds.h"

#include <linux/magic.h>

#include <algorithm>

#include "state/node_index.h"

namespace vfsmend {
namespace {

MountKind kind_of(std::uint64_t magic) {
  if (magic == OVERLAYFS_SUPER_MAGIC) return MountKind::kOverlay;
  return magic == FUSE_SUPER_MAGIC ? MountKind::kFuse : MountKind::kPlain;
}

// By the names of mountinfo: "fuse", "fuse.sshfs", "fuseblk"; virtiofs is FUSE as well.
MountKind kind_of(std::string_view type) {
  if (type == "overlay") return MountKind::kOverlay;
  return type.starts_with("fuse") || type == "virtiofs" ? MountKind::kFuse : MountKind::kPlain;
}

}  // namespace

MountKinds::MountKinds(const ManifestSection& section)
    : section_(section), of_share_(kind_of(section.fs_magic)) {
  const std::size_t first = first_child(section.entries);
  for (const ManifestMount& mount : section.mounts) {
    if (mount.place.empty()) continue;
    const std::uint32_t at = find_path(section.entries, first, mount.place);
    if (at == kNoIndex) continue;
    mounts_.emplace_back(at, kind_of(mount.fs_type));
    mixed_ = mixed_ || mounts_.back().second != of_share_;
  }
  std::ranges::sort(mounts_);
}

// By the nearest mount above it. Its device would not tell: an overlay shows files under those of its layers.
MountKind MountKinds::at(std::uint32_t position) const {
  if (!mixed_) return of_share_;
  const auto& parent = section_.entries.parent;
  for (std::uint32_t at = position; at != kNoParent; at = parent[at]) {
    const auto mount = std::ranges::lower_bound(mounts_, at, {}, &std::pair<std::uint32_t, MountKind>::first);
    if (mount != mounts_.end() && mount->first == at) return mount->second;
  }
  return of_share_;
}

std::size_t first_child(const EntryTable& entries) {
  std::size_t first = 1;
  while (first < entries.size_of() && entries.parent[first] == kNoParent) ++first;
  return first;
}

std::uint32_t find_entry(const EntryTable& entries, std::size_t first, std::uint32_t directory,
                         std::string_view name) {
  auto low = static_cast<std::uint32_t>(first);
  auto high = static_cast<std::uint32_t>(entries.size_of());
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    const auto there = std::pair(entries.parent[middle], entries.name[middle]);
    if (there == std::pair(directory, name)) return middle;
    if (there < std::pair(directory, name)) low = middle + 1;
    else high = middle;
  }
  return kNoIndex;
}

std::uint32_t find_path(const EntryTable& entries, std::size_t first, std::string_view path) {
  std::uint32_t at = 0;
  while (at != kNoIndex && !path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) at = find_entry(entries, first, at, path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return at;
}

}  // namespace vfsmend
