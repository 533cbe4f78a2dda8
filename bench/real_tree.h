// SPDX-License-Identifier: Apache-2.0
// A directory of this machine as a manifest has it, for figures of bytes an entry.
#pragma once

#include <string>

#include "manifest/manifest.h"

namespace vfsmend::bench {

// Breadth first, siblings sorted. Without attributes, links' targets and contents; what cannot be
// looked at is left out.
[[nodiscard]] Manifest real_tree(const std::string& directory);

}  // namespace vfsmend::bench
