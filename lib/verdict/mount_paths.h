// SPDX-License-Identifier: Apache-2.0
// What a loader of V2 opens before the inodes: for each mount id of the source a path below the
// share, from which handles of that mount are opened.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sys/unique_fd.h"
#include "verdict/destination.h"
#include "verdict/host_walk.h"

namespace vfsmend {

struct MountPaths {
  // By the source's mount id: a directory on that mount, O_PATH.
  std::unordered_map<std::uint64_t, sys::UniqueFd> by_id;
  std::vector<std::uint64_t> dead;  // ids whose path the loader cannot open; it only warns
  bool hangs = false;               // a path is a FIFO: the loader's open never returns
};

// Looks at the paths only if the loader comes to open them: V2, inodes, and a good root record.
[[nodiscard]] MountPaths open_mount_paths(const WalkInput& input);

// The name that a Path is opened by: its filename, or in CubeSandbox an absolute fullname, which
// a remapping loader replaces by the allowed_dir with the same last component.
[[nodiscard]] std::string_view effective_name(const Path& path, const Destination& destination);

}  // namespace vfsmend
