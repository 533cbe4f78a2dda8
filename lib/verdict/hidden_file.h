// SPDX-License-Identifier: Apache-2.0
// Files that were open and had no name at the capture, whose bytes it kept (H001).
//
// A kept file is called by its content: a capture that replaces another, and is cut short or fails before
// its manifest stands, has not touched the bytes that the manifest of before means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "manifest/manifest.h"
#include "manifest/object.h"
#include "state/fs_state.h"

namespace vfsmend {

struct HiddenFile {
  std::string file;  // beside the manifest, as that was told
  // In the root of the share, for the time of a resume. Always the same, so that a check knows it
  // again; another capture's has another.
  std::string hidden_name;
  // As the guest had it; setuid and setgid are not given to what is made anew.
  std::uint32_t mode = 0;  // permission bits
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t mtime = 0;  // ns since 1970
  std::uint64_t size = 0;  // bytes
  ContentHash hash{};
};

// What fact "kept" of a section says of an inode; nothing where it does not, or is damaged.
[[nodiscard]] std::optional<HiddenFile> hidden_file(const ManifestSection& section,
                                                const std::string& manifest_path, NodeId node);
// Its name in the directory of the manifest.
[[nodiscard]] std::string name_of_kept(const HiddenFile& file);
// The value of that fact. `facts`: of the file, whose inode number is in the name of its copy.
[[nodiscard]] std::string kept_fact(NodeId node, const ObjectFacts& facts, const ContentHash& hash);
// "<manifest>.kept-<number>-<the first half of its hash>"
[[nodiscard]] std::string kept_path(const std::string& manifest, std::uint64_t number,
                                    const ContentHash& hash);

}  // namespace vfsmend
