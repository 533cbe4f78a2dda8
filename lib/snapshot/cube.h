// SPDX-License-Identifier: Apache-2.0
// A CubeSandbox snapshot: the options of each device come from its config.json.
#pragma once

#include "snapshot/vm_snapshot.h"

namespace vfsmend {

[[nodiscard]] Result<std::vector<SnapshotDevice>> cube_devices(const VmSnapshot& vm,
                                                               JsonText& state);

}  // namespace vfsmend
