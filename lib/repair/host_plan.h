// SPDX-License-Identifier: Apache-2.0
// What is to be put back on the host, from findings and the record of the capture. Only what root
// recorded is put back, only on the very object that it was recorded of, and never more than it says.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "repair/host_object.h"
#include "verdict/device_check.h"
#include "verdict/hidden_file.h"
#include "verdict/share.h"

namespace vfsmend {

// One object, with all that is to be put back of it.
struct HostStep {
  std::string path;  // as open_object() takes it
  HostIdentity identity;
  HostFacts before;
  HostFacts after;
};

// A file that is made for the time of the resume: its bytes are those of `file.file`.
struct HiddenStep {
  NodeId node = 0;
  HiddenFile file;
};

// All that is done in one share.
struct HostWork {
  std::vector<HostStep> steps;
  std::vector<HiddenStep> hidden;
  // ns since 1970, of the share itself: names that come and go move it, and the guest would see that.
  std::int64_t share_mtime = 0;

  [[nodiscard]] bool empty() const { return steps.empty() && hidden.empty(); }
};

struct HostPlan {
  sys::UniqueFd share;  // O_PATH: good in every mount namespace; invalid where there is none
  std::string share_path;
  sys::UniqueFd kept;  // O_PATH, the same: where kept files lie; invalid where none is needed
  HostWork work;
};

// What a capture kept, open for reading: a regular file that root alone can write, with the bytes that
// were captured. `directory`: of the manifest. kSystem.
[[nodiscard]] Result<sys::UniqueFd> open_kept(sys::Calls& calls, int directory, const HiddenFile& kept);

class HostPlanner {
 public:
  // `input.recorded` and `input.options` are there.
  explicit HostPlanner(const DeviceInput& input) : in_(input) {}

  // The state that the findings are of: where its binds lie, which are not in the share.
  void see(const State& state);
  // Takes what would mend a finding; "", or why it is not done: for a person.
  [[nodiscard]] std::string add(const Finding& finding);
  // Of a finding that was taken: what has to be so when its step is made, and what an undo does.
  void describe(const Finding& finding, std::string& precondition, std::string& inverse) const;
  // Opens the share, once. kSystem.
  [[nodiscard]] Result<void> find_share();
  [[nodiscard]] HostPlan take() { return std::move(plan_); }

 private:
  [[nodiscard]] std::string add_hidden(const Finding& finding);
  // As open_object() takes it.
  [[nodiscard]] std::string place_of(const Finding& finding) const;
  [[nodiscard]] Result<HostStep*> step_of(const Finding& finding);
  // How many names of an object are recorded: one that has more may be a file outside of the share.
  [[nodiscard]] std::uint32_t recorded_names(std::uint32_t position);

  const DeviceInput& in_;
  HostPlan plan_;
  struct Bound {
    std::string at;    // absolute; "": in the share
    std::string name;  // in its parent
    NodeId parent = 0;
  };
  std::unordered_map<NodeId, Bound> bound_;    // of a state of CubeSandbox
  std::map<std::string, std::size_t> by_path_;  // by finding's path
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> names_;  // by device and number
};

}  // namespace vfsmend
