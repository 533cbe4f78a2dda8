// SPDX-License-Identifier: Apache-2.0
// The very daemon that will restore is asked whether it can, without a VM: it loads the state, says
// so, and ends. What it opens it opens as in a restore, with the recorded flags; hence what would
// change files is refused before (harm_of).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "daemon/virtiofsd.h"
#include "state/fs_state.h"

namespace vfsmend::daemon {

struct Answer {
  enum class End {
    kLoaded,
    kFailed,
    kHung,        // no answer by the deadline; it was killed
    kNotStarted,  // it ended before it took the state
  };
  End end = End::kFailed;
  DaemonLog log;
  std::chrono::microseconds load{};  // kLoaded and kFailed: hand-over to answer
};

// An error is one of ours: the program cannot be executed, or speaks another protocol. A daemon
// that dies in the middle of the load is one too (kSystem), with its last words.
[[nodiscard]] Result<Answer> rehearse(const VirtiofsdStart& how, Bytes state,
                                      sys::Deadline answer_by);

// Why a load of this state would change files of the share, in words: flags of a handle that
// truncate or create. A healthy state has none. Nothing where it would not.
[[nodiscard]] std::optional<std::string> harm_of(const State& state);

}  // namespace vfsmend::daemon
