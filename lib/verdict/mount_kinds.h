// SPDX-License-Identifier: Apache-2.0
// On what kind of file system a recorded object lay: what tells one object from another is not the same on all
// of them, and a share has others mounted below it.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "manifest/manifest.h"

namespace vfsmend {

enum class MountKind : std::uint8_t {
  kPlain,
  kOverlay,  // an object gets another birth time with the copy that a first write makes of it
  kFuse,     // handles are made up anew with every mount
};

class MountKinds {
 public:
  // Keeps a reference: it must outlive this.
  explicit MountKinds(const ManifestSection& section);

  [[nodiscard]] MountKind at(std::uint32_t position) const;

 private:
  const ManifestSection& section_;
  MountKind of_share_;
  bool mixed_ = false;  // below the share there is one of another kind
  std::vector<std::pair<std::uint32_t, MountKind>> mounts_;  // by position, ascending
};

// The entry `name` of the directory at `directory`, or kNoIndex. Entries of a directory stand one after the
// other, their names ascending (table_builder.h), from `first` on, which is behind those without a directory.
[[nodiscard]] std::uint32_t find_entry(const EntryTable& entries, std::size_t first, std::uint32_t directory,
                                       std::string_view name);
[[nodiscard]] std::size_t first_child(const EntryTable& entries);
// The same by a path below the share.
[[nodiscard]] std::uint32_t find_path(const EntryTable& entries, std::size_t first, std::string_view path);

}  // namespace vfsmend
