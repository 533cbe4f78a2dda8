// SPDX-License-Identifier: Apache-2.0
// A directory of this machine as a capture records it, without contents.
#pragma once

#include <string>

#include "manifest/manifest.h"

namespace vfsmend::bench {

// No section where it cannot be captured.
[[nodiscard]] Manifest real_tree(const std::string& directory);

}  // namespace vfsmend::bench
