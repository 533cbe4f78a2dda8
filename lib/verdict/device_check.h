// SPDX-License-Identifier: Apache-2.0
// One device of a snapshot against one destination: decode, look, predict, judge.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "snapshot/container.h"
#include "sys/calls.h"
#include "verdict/check.h"
#include "verdict/destination.h"
#include "verdict/record_options.h"
#include "verdict/report.h"

namespace vfsmend {

struct DeviceInput {
  sys::Calls& calls;
  const SnapshotDevice& device;
  ContainerKind container;
  Destination destination;
  // The reader is certain: the container is recognised, or the user gave a profile or dialect. A
  // verdict that destroys needs that.
  bool reader_known = true;
  bool judge_elsewhere = false;  // also what the other profiles of this platform would do
  std::size_t max_findings = 1000;
  // What a capture recorded of the device, if there is any; then `options` is set too.
  const ManifestSection* recorded = nullptr;
  const RecordOptions* options = nullptr;
};

struct DeviceOutcome {
  DeviceReport report;
  std::map<std::string, std::uint64_t> counts;
  std::vector<std::string> assumptions;
  Timing timing;
  // Not empty: nothing was judged, and why ("is this a device state?").
  std::string operational;
};

[[nodiscard]] DeviceOutcome check_device(DeviceInput input, const Progress& progress);

// A check that has another judge of each device: one that also makes a plan, for example.
using JudgeDevice = std::function<DeviceOutcome(DeviceInput input, const Progress& progress)>;
[[nodiscard]] Result<Report> check_by(sys::Calls& calls, const CheckRequest& request,
                                      const Progress& progress, const JudgeDevice& judge);

}  // namespace vfsmend
