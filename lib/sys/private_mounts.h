// SPDX-License-Identifier: Apache-2.0
// A mount namespace of this process alone: what is mounted in it nobody else sees, and it is gone
// with the process and what it started. For a worker; needs root.
#pragma once

#include <string>

#include "base/result.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {

// Mounts that others make still come in.
[[nodiscard]] Result<void> enter_private_mounts();

// Binds `path`, with all that is mounted below it, over itself: the same names, mounts of our own.
// `read_only` (Linux 5.12): nothing below it can be changed through them.
[[nodiscard]] Result<void> bind_over_itself(const std::string& path, bool read_only);

// The tree below `dir` once more, as mounts that nobody else sees and that are gone with their
// descriptor (O_PATH): reading through it leaves no access times, not even of symbolic links.
// Linux 5.12; kSystem where it cannot be.
[[nodiscard]] Result<UniqueFd> clone_without_atime(int dir);

// A new directory of ours alone (0700) below /run or, where that cannot be, /tmp.
[[nodiscard]] Result<std::string> make_private_directory();
// Removes one that is empty.
void remove_private_directory(const std::string& path);

}  // namespace vfsmend::sys
