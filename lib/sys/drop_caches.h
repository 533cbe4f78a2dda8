// SPDX-License-Identifier: Apache-2.0
// What the kernel remembers of names and inodes that nobody uses, let go.
#pragma once

#include "base/result.h"

namespace vfsmend::sys {

// Writes 2 to /proc/sys/vm/drop_caches: clean dentries and inodes of the whole machine. Pages stay,
// and nothing is written back. kSystem where it is not allowed (not root, a read-only /proc).
[[nodiscard]] Result<void> drop_name_caches();

}  // namespace vfsmend::sys
