// SPDX-License-Identifier: Apache-2.0
// What ends a restore before a state is read: a daemon that does not start on this share with these
// switches, or CubeSandbox's loader that cannot open what it opens first.
#pragma once

#include <optional>
#include <string>

#include "sys/calls.h"
#include "verdict/codes.h"
#include "verdict/report.h"
#include "verdict/share.h"

namespace vfsmend {

struct StartFailure {
  Restore restore;
  // The code to report it under. Nothing where R001, R005 or another rule tells it anyway.
  std::optional<Code> code;
  std::string message;
  std::string action;
};

[[nodiscard]] std::optional<StartFailure> cannot_start(sys::Calls& calls,
                                                       const Destination& destination,
                                                       const Share& share);

}  // namespace vfsmend
