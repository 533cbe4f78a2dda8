// SPDX-License-Identifier: Apache-2.0
// What a device's own JSON text in state.json says about a virtio-fs device.
//
//   CubeSandbox        {"avail_features", "acked_features", "config": {"tag": [36 numbers], ..},
//                       "back_state": [numbers]}
//   Cloud Hypervisor   {.., "vu_num_queues", "vring_bases": [numbers] | null,
//                       "backend_state": [numbers] | null}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "snapshot/byte_array.h"
#include "snapshot/json_text.h"

namespace vfsmend {

struct DeviceText {
  bool names_state = false;  // the key of the state is there, be it null: a virtio-fs device
  std::optional<ByteArray> state;
  std::optional<std::string> tag;
  std::optional<std::uint64_t> acked_features;
  std::optional<std::uint64_t> queues;       // vu_num_queues
  std::optional<std::uint64_t> vring_bases;  // how many
};

// `state_key` is "back_state" or "backend_state". `out` gets what could be read before an error.
[[nodiscard]] Result<void> parse_device_text(JsonText& file, RawSpan text,
                                             std::string_view state_key, DeviceText& out);

}  // namespace vfsmend
