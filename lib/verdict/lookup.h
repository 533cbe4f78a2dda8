// SPDX-License-Identifier: Apache-2.0
// One name of the state, resolved as the loader would resolve it, and no further.
#pragma once

#include <string>
#include <string_view>

#include "sys/calls.h"
#include "sys/unique_fd.h"
#include "verdict/destination.h"
#include "verdict/share.h"

namespace vfsmend {

struct Found {
  sys::UniqueFd fd;         // O_PATH; invalid where err is set
  int err = 0;              // errno of the loader's openat
  Zone zone = Zone::kShare;
  bool left_share = false;  // the name led out of the directory tree it may use
  std::string real_path;    // set where the name does not tell it (links, "..", slashes)
};

// A name that is one component: no slash, not empty, neither "." nor "..". It cannot lead
// anywhere but into its directory, so statx(dir, name) says all that opening it would.
[[nodiscard]] bool is_one_component(std::string_view name);

// Any other name. First beneath `parent`, following nothing; where that is refused, once more as
// the loader does it: freely, or with the share as root, which needs the parent's real path.
[[nodiscard]] Found look_up(sys::Calls& calls, const Share& share, const Destination& destination,
                            int parent, Zone parent_zone, const std::string& name);

}  // namespace vfsmend
