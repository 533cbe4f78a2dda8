// SPDX-License-Identifier: Apache-2.0
// The command line of vfsmend, in a process of its own or in a test.
#pragma once

#include "vfsmend/io.h"

namespace vfsmend {

// The exit status. Throws nothing; forks the workers that do the looking.
[[nodiscard]] int tool_main(int argc, const char* const* argv, const Io& io);

}  // namespace vfsmend
