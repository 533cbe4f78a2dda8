// SPDX-License-Identifier: Apache-2.0
// A mount namespace of our own with a directory on each file system that this machine can mount:
// tmpfs, overlay, and images of ext4, xfs and btrfs. Nothing of it is seen outside, and it is gone
// with the last process in it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace vfsmend::differential {

struct Workshop {
  // For each process that plays at the same time its own: a damaged file handle may open anything
  // on its file system, another's files too.
  std::vector<std::vector<std::string>> bases;
  std::vector<std::string> states;  // for each process: a directory for snapshots, on a tmpfs
  std::string missing;  // file systems that could not be had, and why; empty: none
};

// `directory`: empty and ours; it becomes a tmpfs with all else in it. Needs root.
[[nodiscard]] Result<Workshop> set_up_workshop(const std::string& directory,
                                               unsigned processes);

}  // namespace vfsmend::differential
