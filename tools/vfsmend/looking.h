// SPDX-License-Identifier: Apache-2.0
// Looking is done by a worker process, because any look at a file may hang for ever. The worker
// makes the whole answer, and this process only prints it: or says why there is none.
#pragma once

#include <functional>
#include <string>

#include "verdict/check.h"
#include "vfsmend/output.h"
#include "vfsmend/settings.h"

namespace vfsmend {

enum class Unable {
  kDeadline,
  kCancelled,
  kBroken,  // the worker died, or could not be started
};

// Runs `look` in the worker under the deadline of `run`. Where it does not come to an end,
// `unable` makes the answer from the reason (in words) instead.
[[nodiscard]] Rendered look_bounded(
    const RunSettings& run, const std::function<Rendered(const Progress&)>& look,
    const std::function<Rendered(Unable, std::string reason)>& unable);

}  // namespace vfsmend
