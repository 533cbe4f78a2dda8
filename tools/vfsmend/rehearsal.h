// SPDX-License-Identifier: Apache-2.0
// A check, and beside it what the user's own virtiofsd says when it loads the state: in a private
// mount namespace, over a bind of each share. For the worker: the mount namespace of the process
// and its mounts are changed.
#pragma once

#include <string>
#include <vector>

#include "sys/deadline.h"
#include "verdict/check.h"
#include "vfsmend/settings.h"

namespace vfsmend {

// Where the two differ, or the daemon could not be asked about a state that the model calls good,
// the verdict is indeterminate. kUsage: there is no such program, or it is no virtiofsd.
// `socket_directory`: ours alone (0700).
[[nodiscard]] Result<Report> rehearse_and_check(sys::Calls& calls, const RehearseSettings& settings,
                                                const std::string& socket_directory,
                                                sys::Deadline answer_by, const Progress& progress);

}  // namespace vfsmend
