// SPDX-License-Identifier: Apache-2.0
#include "snapshot/cube.h"

namespace vfsmend {

Result<std::vector<SnapshotDevice>> cube_devices(const VmSnapshot& vm, JsonText& state) {
  VFSMEND_TRY_ASSIGN(std::vector<VmDevice> found, collect_devices(vm, state, "back_state"));
  std::vector<SnapshotDevice> out;
  for (VmDevice& device : found) {
    if (device.configured) {
      device.device.cube = device.configured->backend;
      if (!device.device.cube) {
        device.device.notes.emplace_back("config.json has no backendfs_config for it");
      }
    } else if (vm.has_config) {
      device.device.notes.emplace_back("config.json does not name it");
    }
    out.push_back(std::move(device.device));
  }
  return out;
}

}  // namespace vfsmend
