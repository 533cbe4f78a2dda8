// SPDX-License-Identifier: Apache-2.0
// What /proc says: where a descriptor points to, and small files of the kernel's own.
#pragma once

#include <fcntl.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "sys/calls.h"

namespace vfsmend::sys {

// The text of /proc/self/fd/N: the path of what the descriptor stands for, as this process sees
// it. Nothing where it cannot be read or is longer than a path may be (4,095 bytes).
[[nodiscard]] std::optional<std::string> path_of_fd(Calls& calls, int fd);

// The whole of a file of procfs; a relative path is below `dir`.
[[nodiscard]] Result<std::string> read_proc_file(Calls& calls, const char* path, int dir = AT_FDCWD);

}  // namespace vfsmend::sys
