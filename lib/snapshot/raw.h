// SPDX-License-Identifier: Apache-2.0
// A file that holds a device's state and nothing else. Whether it is one is found out by decoding.
#pragma once

#include <string>
#include <vector>

#include "snapshot/byte_source.h"
#include "snapshot/container.h"

namespace vfsmend {

[[nodiscard]] Result<std::vector<SnapshotDevice>> read_raw(ByteSource& source,
                                                           const std::string& path);

}  // namespace vfsmend
