// SPDX-License-Identifier: Apache-2.0
#include "real_tree.h"

#include "manifest/capture.h"

namespace vfsmend::bench {

Manifest real_tree(const std::string& directory) {
  CaptureInput input{sys::kernel(), directory, "", nullptr, {}, true, HashScope::kNone, 0, {}};
  Manifest manifest;
  if (auto captured = capture_share(input)) manifest.sections.push_back(std::move(captured->section));
  return manifest;
}

}  // namespace vfsmend::bench
