// SPDX-License-Identifier: Apache-2.0
// A repair and its undoing, on disk.
//
//  1. the folder of the snapshot is locked; a plan is made;
//  2. nobody else has the snapshot open; its states are still those of the plan;
//  3. the journal is written, and is on disk;
//  4. the file with the states is replaced in one step, the original stays beside it;
//  5. a check of what is there now decides.
//
// A crash at any point leaves the old file or the new one, whole. Before 4 the journal has nothing to
// undo, and a repair can be run again.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "repair/plan.h"
#include "sys/changes.h"
#include "verdict/check.h"

namespace vfsmend {

struct RepairRequest {
  CheckRequest check;
  Consent consent = Consent::kSafe;
  bool force = false;  // though another process has the snapshot open
};

struct RepairResult {
  RepairPlan plan;
  Report after;          // the check that decides; that of before where nothing was changed
  bool changed = false;
  std::string journal;   // for undo
  std::string kept;      // the original
  // Not empty: nothing was changed, and why (locked, open elsewhere, no space).
  std::string reason;
};

// kUsage as check().
[[nodiscard]] Result<RepairResult> repair_snapshot(sys::Calls& calls, sys::Changes& changes,
                                                   const RepairRequest& request,
                                                   const Progress& progress);

struct UndoRequest {
  std::string journal;
  bool dry_run = false;
  bool force = false;  // though the file is not as the repair left it
};

// What was done, or would be, for a person. kUsage: no journal. Other errors: it was not undone, and
// why; nothing is changed then.
[[nodiscard]] Result<std::string> undo_repair(sys::Calls& calls, sys::Changes& changes,
                                              const UndoRequest& request,
                                              const Progress& progress);

}  // namespace vfsmend
