// SPDX-License-Identifier: Apache-2.0
// The file systems of a VM's config.json (CubeSandbox and Cloud Hypervisor), and CubeSandbox's
// overlay of them at a resume.
//
//   config.json     = {"fs": [fs ..] | null, ..}
//   fs              = {"id", "tag", "num_queues", "backendfs_config": backend | null, ..}
//   backend         = {"shared_dir", "cache", "read_only", "allowed_dirs", ..}   (CubeSandbox only)
//   cube.virtiofs   = [{"id", "backendfs_config": backend} ..]
//
// Keys that are not named here are passed over.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/container.h"
#include "snapshot/json_text.h"

namespace vfsmend {

struct ConfiguredFs {
  std::string id;  // empty where the file leaves it to the VMM
  std::optional<std::string> tag;
  std::optional<CubeBackend> backend;
};

// More than any VM has; bounds what a hostile file makes us keep.
inline constexpr std::size_t kMostFileSystems = 4096;

// `out` gets what could be read before an error, too.
[[nodiscard]] Result<void> parse_vm_config(JsonText& text, std::vector<ConfiguredFs>& out);

[[nodiscard]] Result<std::vector<ConfiguredFs>> parse_cube_overlay(JsonText& text);

// What CubeSandbox does with the annotation when it resumes: where both have a back-end for an
// id, shared_dir and cache are taken over as they are (or by default) there, allowed_dirs where
// it is given, read_only never. Returns the ids of the overlay that met nothing.
std::vector<std::string> apply_cube_overlay(const std::vector<ConfiguredFs>& overlay,
                                            std::vector<ConfiguredFs>& config);

}  // namespace vfsmend
