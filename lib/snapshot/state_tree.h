// SPDX-License-Identifier: Apache-2.0
// The tree of state.json, as far as it leads to the devices.
//
//   node (CubeSandbox)       = {"id", "snapshots": {id: node ..}, "snapshot_data":
//                               {"<id>-section": {"id", "snapshot": "<JSON text>"}}}
//   node (Cloud Hypervisor)  = {"snapshots": {id: node ..}, "snapshot_data":
//                               {"state": "<JSON text>"} | null}
//
// The devices are the nodes below snapshots["device-manager"]. Their texts are found here and
// read by device_text.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/json_text.h"

namespace vfsmend {

struct TreeDevice {
  std::string id;
  std::optional<RawSpan> text;  // inside the quotes; nothing where the node holds no data
};

struct StateTree {
  std::vector<TreeDevice> devices;  // in the order of the file
  bool has_nodes = false;           // there is a "snapshots" at the root: a snapshot of either
  bool cube_marks = false;          // nodes with an id, sections
  bool cloud_hypervisor_marks = false;  // a "state" in snapshot_data
};

inline constexpr std::size_t kMostDevices = 4096;

// `out` gets what could be read before an error, too: a torn file still tells who wrote it.
[[nodiscard]] Result<void> parse_state_tree(JsonText& text, StateTree& out);

}  // namespace vfsmend
