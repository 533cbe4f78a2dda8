// SPDX-License-Identifier: Apache-2.0
// /proc/self/mountinfo, by mount id: what statx(2) does not say of a mount.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "sys/calls.h"

namespace vfsmend::sys {

struct Mount {
  std::uint64_t id = 0;
  std::string mount_point;    // octal escapes of mountinfo undone
  std::string fs_type;        // "ext4", "fuse.s3fs"
  bool mount_read_only = false;  // this mount
  bool super_read_only = false;  // the file system behind it
};

using MountTable = std::unordered_map<std::uint64_t, Mount>;

// The mounts of the mount namespace this process is in. A line that cannot be parsed is passed
// over: it cannot be the mount of anything that is looked up by id.
[[nodiscard]] Result<MountTable> read_mount_table(Calls& calls);

[[nodiscard]] MountTable parse_mount_table(std::string_view mountinfo);

}  // namespace vfsmend::sys
