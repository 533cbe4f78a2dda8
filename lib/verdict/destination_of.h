// SPDX-License-Identifier: Apache-2.0
// The destination of each device: what the user said, before what the snapshot says, before the
// defaults of the program that will load it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/container.h"
#include "verdict/check.h"

namespace vfsmend {

// The share of each device, in their order. Errors (kUsage): a device without one where the
// snapshot does not record it, an id that is not in the snapshot; the text lists the ids.
[[nodiscard]] Result<std::vector<std::string>> shares_of(const CheckRequest& request,
                                                         const Snapshot& snapshot);

// `dialect` is what the user said or, of a raw file, what its bytes look like. Errors (kUsage):
// switches that contradict each other.
[[nodiscard]] Result<Destination> destination_of(const CheckRequest& request, ContainerKind kind,
                                                 const SnapshotDevice& device,
                                                 std::optional<Dialect> dialect,
                                                 const std::string& share);

}  // namespace vfsmend
