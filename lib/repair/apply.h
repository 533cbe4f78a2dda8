// SPDX-License-Identifier: Apache-2.0
// A repair and its undoing, on disk.
//
//  1. the folder of the snapshot is locked; a plan is made;
//  2. nobody else has the snapshot open; its states are still those of the plan;
//  3. the journal is written, and is on disk;
//  4. objects of the host get what the capture recorded: all of them, or none;
//  5. the file with the states is replaced in one step, the original stays beside it;
//  6. the journal says that it is done;
//  7. a check of what is there now decides.
//
// A crash at any point leaves the old file or the new one, whole, and objects of the host as before,
// as behind, or on the way: undo takes all of it back, and a repair can be run again.
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
  bool force = false;  // though another process has the snapshot or the share open
  NodeMapFile map{};
};

struct RepairResult {
  RepairPlan plan;
  Report after;          // the check that decides; that of before where nothing was changed
  bool changed = false;
  std::string journal;   // for undo; empty where nothing is left of it
  std::string kept;      // the original
  // Not empty: it was not done, and why (locked, open elsewhere, no space). Where there is a `kept`
  // as well the file may be the repaired one already, and perhaps not on disk.
  std::string reason;
};

// kUsage as check().
[[nodiscard]] Result<RepairResult> repair_snapshot(sys::Calls& calls, sys::Changes& changes,
                                                   const RepairRequest& request,
                                                   const Progress& progress);

struct UndoRequest {
  std::string journal;
  bool dry_run = false;
  bool force = false;  // though the file, or an object of the share, is not as the repair left it
  pid_t mount_namespace_of = 0;  // where the share is: as CheckRequest has it
};

struct FinishRequest {
  std::string journal;
  pid_t mount_namespace_of = 0;
};

// After the confirmed resume: the hidden names of a repair go, and the guest's open files stay. What
// was removed, for a person. Errors as undo_repair().
[[nodiscard]] Result<std::string> finish_repair(sys::Calls& calls, sys::Changes& changes,
                                                const FinishRequest& request,
                                                const Progress& progress);

// What was done, or would be, for a person. kUsage: no journal. Other errors: it was not undone, and
// why; nothing is changed then.
[[nodiscard]] Result<std::string> undo_repair(sys::Calls& calls, sys::Changes& changes,
                                              const UndoRequest& request,
                                              const Progress& progress);

}  // namespace vfsmend
