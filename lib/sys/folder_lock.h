// SPDX-License-Identifier: Apache-2.0
// One repair at a time: an advisory lock (flock) on the directory of a snapshot, gone with its holder.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "sys/calls.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {

// The lock on `directory`, held as long as the descriptor. kSystem; with EWOULDBLOCK where another
// process has it, which the text names as far as /proc tells ("held by process 17 (vfsmend)").
[[nodiscard]] Result<UniqueFd> lock_folder(Calls& calls, const std::string& directory);

struct Holder {
  pid_t pid = 0;
  std::string name;  // of its program, as /proc/PID/comm has it
};

// Other processes that have the file at `path` open or mapped by a descriptor. Those that we may not
// look into are passed over.
[[nodiscard]] std::vector<Holder> who_has_open(Calls& calls, const std::string& path);

}  // namespace vfsmend::sys
