// SPDX-License-Identifier: Apache-2.0
// A case's state, repaired on disk as `vfsmend repair -y --force` does it, repaired again, given to the
// daemon, and taken back.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "dice.h"
#include "judge.h"
#include "verdict/check.h"

namespace vfsmend::differential {

struct RepairCase {
  std::string folder;   // to be made for it
  Bytes state;
  CheckRequest check;   // the destination, as a person says it; the path is filled in
  Dice dice;            // for mode, owner and the rest of the file, and what its file system lacks
  bool known_to_load = false;  // the model said resume of these bytes, and they were loaded
  std::function<Result<Seen>(Bytes state)> load;  // by the real daemon
};

struct RepairOutcome {
  bool planned = false;   // there were steps
  bool repaired = false;  // the tool says resume of what it changed, and a daemon was asked
  bool undone = false;
  std::vector<std::string> wrong;  // in words
};

// An error is the bench's, not the repair's.
[[nodiscard]] Result<RepairOutcome> try_repair(const RepairCase& given);

}  // namespace vfsmend::differential
