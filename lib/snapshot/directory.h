// SPDX-License-Identifier: Apache-2.0
// A snapshot directory of CubeSandbox or Cloud Hypervisor:
//
//   flat      config.json  state.json  <memory>
//   package   snapshot/{config.json, state.json, <memory>}  metadata.json  sandbox_spec.json  ..
//
// The two programs' directories have the same names in them; which it is, their content tells.
#pragma once

#include <optional>
#include <string>

#include "snapshot/container.h"
#include "snapshot/open.h"
#include "sys/read_file.h"

namespace vfsmend {

// Fills `out` but for its path. out.files has what was opened, also where the result is an error.
[[nodiscard]] Result<void> read_directory(sys::Calls& calls, const sys::Located& directory,
                                          const std::string& path, const OpenOptions& options,
                                          std::optional<ContainerKind>& recognised, Snapshot& out);

}  // namespace vfsmend
