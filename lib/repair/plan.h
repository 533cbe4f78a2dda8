// SPDX-License-Identifier: Apache-2.0
// What would mend a snapshot, as data: findings become steps on the state, the changed state is judged
// anew, and so on until nothing is left that a step could mend; then what the host needs. Nothing is
// written here.
//
// Only a device whose verdict is "repair" gets steps: what is to be rebuilt or cannot be looked at is
// no better for a changed state, and what resumes is left alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "manifest/nodemap.h"
#include "repair/host_plan.h"
#include "verdict/check.h"
#include "verdict/codes.h"
#include "verdict/device_check.h"
#include "verdict/report.h"

namespace vfsmend {

enum class Consent {
  kSafe,  // only what loses nothing that the guest holds
  kAll,   // what has casualties too
};

struct PlannedStep {
  Code code{};  // of the finding that it mends
  Mend mend = Mend::kNone;
  std::optional<NodeId> inode;
  std::optional<HandleId> handle;
  std::string path;    // below the share
  std::string action;  // for a person
  bool safe = false;
  std::vector<std::string> casualties;
  std::string reason;        // what is wrong: the finding's message
  std::string precondition;  // what has to be so when it is made: else nothing is done
  std::string inverse;       // what an undo does
};

struct DevicePlan {
  std::string device;
  std::vector<PlannedStep> steps;  // in their order
  ByteVector before;             // the state that the steps are for: their precondition
  ByteVector after;
  HostPlan host;                 // of the same steps, what is to be done on the host
  Verdict verdict = Verdict::kResume;  // of the device after the steps
  // Steps that wait for consent, or for something to be done on the host: what a person has to know.
  std::vector<std::string> left;
};

// A node map of the guest (vfsmend nodemap), and of which device; empty: none, and the only one. Where
// there are several, the others are left alone.
struct NodeMapFile {
  std::string path;
  std::string device;
};

struct RepairPlan {
  Report before;  // the check
  std::vector<DevicePlan> devices;  // those with steps, or with something left

  [[nodiscard]] bool has_steps() const;
};

// Of one device, whose state must be there. No steps where its verdict is not "repair"; with a map also
// where it resumes, and the map knows what is lost all the same.
[[nodiscard]] DevicePlan plan_device(const DeviceInput& input, Consent consent,
                                     const Progress& progress, const NodeMap* map = nullptr);

// kUsage as check(), and where the map cannot be read or it is not clear of which device it is.
[[nodiscard]] Result<RepairPlan> plan_repair(sys::Calls& calls, const CheckRequest& request,
                                             Consent consent, const Progress& progress,
                                             const NodeMapFile& map = {});

}  // namespace vfsmend
