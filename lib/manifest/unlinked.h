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
#include "sys/unique_fd.h"

namespace vfsmend {

struct UnlinkedFile {
  std::string link;   // below the process: "fd/7"
  ObjectFacts facts;
  std::vector<std::int32_t> modes;  // access modes of the descriptors on it, ascending
  NodeId node = 0;    // of the state; 0: it cannot be told which
};

// A process as procfs has it (O_PATH), for the two below. It is opened before another mount namespace is
// entered: /proc there may be that of other processes. kSystem.
[[nodiscard]] Result<sys::UniqueFd> open_process(sys::Calls& calls, pid_t pid);

// Regular files without a name that `process` has open, on one of `devices` (makedev()); by
// inode number ascending. kSystem: the process cannot be looked into.
[[nodiscard]] Result<std::vector<UnlinkedFile>> find_unlinked(
    sys::Calls& calls, int process, std::span<const std::uint64_t> devices);

// Opens one of them for reading. kSystem: it cannot be, or the process has another file there now.
[[nodiscard]] Result<sys::UniqueFd> open_unlinked(sys::Calls& calls, int process, const UnlinkedFile& file);

// Which inode of the state each of them is: the lost one that is open in the same way, where there
// is one such inode and one such file. A state does not say more.
void find_nodes(std::vector<UnlinkedFile>& files, const State& state, const NodeIndex& index);

// How many locks process `pid` holds on files of the host (/proc/locks).
[[nodiscard]] std::uint64_t count_locks(sys::Calls& calls, pid_t pid);

}  // namespace vfsmend
