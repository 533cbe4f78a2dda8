// SPDX-License-Identifier: Apache-2.0
// Plays a plan: real tree, real guest session, real daemons, and the model beside them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan.h"

namespace vfsmend::differential {

struct Bench {
  std::string virtiofsd;            // program
  std::string version;              // that it prints
  std::vector<std::string> bases;   // a directory on each file system
  std::string states;               // a directory for snapshots, on a file system of its own
};

struct Score {
  std::uint64_t loads = 0;
  std::map<std::string, std::uint64_t> outcomes;  // how often a daemon "loaded", "failed", .., and what was repaired
  std::vector<std::string> disagreements;
  std::size_t first_bad_step = 0;  // of the plan: the load that disagreed first
};

// An error: the bench itself does not work (no daemon, no descriptors). `name` is that of the
// directory in which it is played.
[[nodiscard]] Result<Score> play(const Bench& bench, const Plan& plan, const std::string& name);

}  // namespace vfsmend::differential
