// SPDX-License-Identifier: Apache-2.0
// What has to be so before anything of a share is looked at.
#pragma once

#include <sys/types.h>

#include <string>

#include "sys/calls.h"

namespace vfsmend {

// Nothing where we can look; else why not: not root, no openat2(2).
[[nodiscard]] std::string cannot_look(sys::Calls& calls);

// Enters the mount namespace of process `pid`, for good. Nothing, or why that failed.
[[nodiscard]] std::string enter_mount_namespace(sys::Calls& calls, pid_t pid);

}  // namespace vfsmend
