// SPDX-License-Identifier: Apache-2.0
// The device state in and out of a running daemon. No guest memory, rings or FUSE_INIT are needed
// for either; after a load, good or failed, the same daemon takes another.
//
// The state travels in a memfd, where a VMM has a pipe: the daemon reads to its end and writes to
// it all the same, and nobody has to stand at the other end.
#pragma once

#include <chrono>

#include "base/bytes.h"
#include "base/result.h"
#include "daemon/vhost_user.h"

namespace vfsmend::daemon {

struct LoadAnswer {
  bool loaded = false;  // false: the daemon's log has the reason
  std::chrono::microseconds took{};  // from the state's hand-over to the answer
};

// Says hello: the questions without which a back-end before 1.14 acknowledges nothing. Returns its
// features. kTimeout and kSystem as VhostUser.
[[nodiscard]] Result<std::uint64_t> greet(VhostUser& wire, sys::Deadline answer_by);

// kUnsupported: the back-end takes no state. kTimeout: it may hang in the load for ever (a mount
// path that is a FIFO).
[[nodiscard]] Result<LoadAnswer> load_state(VhostUser& wire, Bytes state, sys::Deadline answer_by);

// kSystem: the back-end says that it failed. At most 1 GiB: kLimit.
[[nodiscard]] Result<ByteVector> save_state(VhostUser& wire, sys::Deadline answer_by);

}  // namespace vfsmend::daemon
