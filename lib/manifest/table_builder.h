// SPDX-License-Identifier: Apache-2.0
// From the directories of a walk to the table of a manifest: breadth first, the names of a
// directory one after the other and ascending. So the order does not depend on the threads, and the
// entries of a directory are found by halving.
#pragma once

#include <cstdint>
#include <functional>

#include "manifest/directory.h"
#include "manifest/tree_look.h"
#include "sys/second_thread.h"

namespace vfsmend {

// `directories` begins with the one that holds the share itself.
[[nodiscard]] TreeLook build_table(
    const Directories& directories, sys::SecondThread& second,
    const std::function<void(std::uint64_t bytes)>& expect_memory = nullptr);

}  // namespace vfsmend
