// SPDX-License-Identifier: Apache-2.0
// A Cloud Hypervisor snapshot. The state of the back-end is in it since version 52, and the
// restore wants one base for each queue beside it.
#pragma once

#include "snapshot/vm_snapshot.h"

namespace vfsmend {

[[nodiscard]] Result<std::vector<SnapshotDevice>> cloud_hypervisor_devices(const VmSnapshot& vm,
                                                                           JsonText& state);

}  // namespace vfsmend
