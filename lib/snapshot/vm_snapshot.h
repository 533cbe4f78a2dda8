// SPDX-License-Identifier: Apache-2.0
// What CubeSandbox and Cloud Hypervisor snapshots have in common: a config.json that names the
// file systems, and a state.json that holds the devices' states.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "snapshot/container.h"
#include "snapshot/device_text.h"
#include "snapshot/json_text.h"
#include "snapshot/state_tree.h"
#include "snapshot/vm_config.h"

namespace vfsmend {

struct VmSnapshot {
  std::string state_path;
  StateTree tree;
  std::vector<ConfiguredFs> config;  // after the overlay
  bool has_config = false;
  bool is_package = false;  // CubeSandbox's newer layout: snapshot/ beside metadata.json
};

// Who wrote it, as far as its content tells.
[[nodiscard]] std::optional<ContainerKind> kind_of(const VmSnapshot& vm);

// A device of either, with what the two judge differently.
struct VmDevice {
  SnapshotDevice device;
  DeviceText text;                           // its state has been moved to `device`
  const ConfiguredFs* configured = nullptr;  // in VmSnapshot::config
};

// The virtio-fs devices: those that config.json names, in its order, then the rest of those whose
// text has `state_key`, by id. What config.json names and state.json lacks has no state.
// `state` is state.json.
[[nodiscard]] Result<std::vector<VmDevice>> collect_devices(const VmSnapshot& vm, JsonText& state,
                                                            std::string_view state_key);

}  // namespace vfsmend
