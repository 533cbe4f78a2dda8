// SPDX-License-Identifier: Apache-2.0
// Files that were open and had no name at the capture, whose bytes it kept (H001).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "manifest/manifest.h"
#include "state/fs_state.h"

namespace vfsmend {

struct HiddenFile {
  std::string file;  // beside the manifest
  // In the root of the share, for the time of a resume. Always the same, so that a check knows it
  // again; another capture's has another.
  std::string hidden_name;
  // As the guest had it; setuid and setgid are not given to what is made anew.
  std::uint32_t mode = 0;  // permission bits
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t mtime = 0;  // ns since 1970
};

// What fact "kept" of a section says of an inode; nothing where it does not, or is damaged.
[[nodiscard]] std::optional<HiddenFile> hidden_file(const ManifestSection& section,
                                                const std::string& manifest_path, NodeId node);
// The value of that fact. `number`: the file's inode number, by which its copy is called.
[[nodiscard]] std::string kept_fact(NodeId node, std::uint64_t number, std::uint32_t mode,
                                    std::uint32_t uid, std::uint32_t gid, std::int64_t mtime);

}  // namespace vfsmend
