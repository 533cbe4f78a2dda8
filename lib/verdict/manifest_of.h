// SPDX-License-Identifier: Apache-2.0
// The manifest that goes with a check: the one that the user named, or the one that lies where a
// capture leaves it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "manifest/manifest.h"
#include "sys/unique_fd.h"
#include "verdict/check.h"
#include "verdict/report.h"

namespace vfsmend {

struct FoundManifest {
  Manifest manifest;
  ManifestInfo info;
  // Not empty: somebody else than root wrote it, or could have: "owned by user 1000".
  std::string distrust;
  // O_PATH: what was kept beside it is found after another mount namespace was entered too.
  sys::UniqueFd directory;
};

// Nothing where none was named and none is there. Errors: kUsage where one that was named cannot be
// read or is damaged; else as decode_manifest and the reading of files have them. Each names the
// file.
[[nodiscard]] Result<std::optional<FoundManifest>> manifest_of(sys::Calls& calls,
                                                               const CheckRequest& request);

// The section of a device, or of a tree that was captured without a snapshot. Null: none.
[[nodiscard]] const ManifestSection* section_of(const Manifest& manifest, const std::string& device);

// kUsage with file and line. No file: an empty policy.
[[nodiscard]] Result<Policy> read_policy(sys::Calls& calls, const std::string& file);

}  // namespace vfsmend
