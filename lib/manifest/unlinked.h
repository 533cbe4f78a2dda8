// SPDX-License-Identifier: Apache-2.0
// Files that the guest has open and that have no name any more. Nothing but the daemon's own
// descriptors leads to them, so that their bytes can be kept only while it lives.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "manifest/object.h"
#include "state/node_index.h"
#include "sys/calls.h"

namespace vfsmend {

struct UnlinkedFile {
  std::string link;   // "/proc/PID/fd/7"
  ObjectFacts facts;
  std::vector<std::int32_t> modes;  // access modes of the descriptors on it, ascending
  NodeId node = 0;    // of the state; 0: it cannot be told which
};

// Regular files without a name that process `pid` has open, on one of `devices` (makedev()); by
// inode number ascending. kSystem: the process cannot be looked into.
[[nodiscard]] Result<std::vector<UnlinkedFile>> find_unlinked(
    sys::Calls& calls, pid_t pid, std::span<const std::uint64_t> devices);

// Which inode of the state each of them is: the lost one that is open in the same way, where there
// is one such inode and one such file. A state does not say more.
void find_nodes(std::vector<UnlinkedFile>& files, const State& state, const NodeIndex& index);

// How many locks process `pid` holds on files of the host (/proc/locks).
[[nodiscard]] std::uint64_t count_locks(sys::Calls& calls, pid_t pid);

}  // namespace vfsmend
