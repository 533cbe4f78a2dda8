// SPDX-License-Identifier: Apache-2.0
#include "snapshot/raw.h"

#include <fmt/core.h>

#include "snapshot/limits.h"

namespace vfsmend {

Result<std::vector<SnapshotDevice>> read_raw(ByteSource& source, const std::string& path) {
  if (source.size() > kMaxStateBytes) {
    return fail(ErrorCode::kLimit, fmt::format("has {} bytes; a device state has {} at most",
                                               source.size(), kMaxStateBytes));
  }
  SnapshotDevice device;
  device.id = "raw";
  device.span = {path, 0, source.size()};
  VFSMEND_TRY_ASSIGN(device.state, read_part(source, 0, source.size()));
  std::vector<SnapshotDevice> out;
  out.push_back(std::move(device));
  return out;
}

}  // namespace vfsmend
