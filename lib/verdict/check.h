// SPDX-License-Identifier: Apache-2.0
// The main job: will this snapshot restore, to the same files, and if not, what repairs it?
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sys/calls.h"
#include "verdict/destination.h"
#include "verdict/record_options.h"
#include "verdict/report.h"

namespace vfsmend {

struct CheckRequest {
  std::string snapshot_path;
  // --share ID=DIR. One with an empty id (--shared-dir) is for the only device there is.
  struct Share {
    std::string device;
    std::string dir;
  };
  std::vector<Share> shares;
  // What the user said. Nothing: from the container, else the strictest (Cube) or the default.
  std::optional<Profile> profile;
  std::optional<OnError> on_error;
  std::optional<Dialect> dialect;
  // The switches of the daemon. Of a Cube snapshot config.json and the overlay give those that
  // the user did not: `given` has the names ("writeback") of the ones that he did.
  Destination switches;
  std::vector<std::string> given;
  std::string manifest_file;  // of the capture; empty: where a capture leaves it, if it is there
  std::string policy_file;    // empty: none
  RecordOptions record;       // its manifest and policy are filled in by check()
  std::string overlay_file;  // the cube.virtiofs annotation; empty: none
  std::string trace_id;
  std::size_t max_findings = 1000;
  // Look into the mount namespace of this process (CubeSandbox keeps its binds there); 0: ours.
  pid_t mount_namespace_of = 0;
  // Told, before a device is judged, about how many bytes of memory that will take. A process of
  // its own may fetch them in one go (sys/heap.h); empty: nobody wants to know.
  std::function<void(std::uint64_t bytes)> expect_memory;
};

// Told what is looked at now, before it is looked at: what a deadline that passes can name.
using Progress = std::function<void(std::string_view stage)>;

// A report, whatever the state of the snapshot and of the share. An error is kUsage only: what the
// caller asked for cannot be (exit 16). Changes nothing anywhere; opens no file of the share
// beyond O_PATH, but for the listing of a root directory that has lost all it should hold.
[[nodiscard]] Result<Report> check(sys::Calls& calls, const CheckRequest& request,
                                   const Progress& progress);

// The report of a check that could not be made: verdict indeterminate, and Report::reason; with a
// code (E001 where the deadline passed) also a finding that says the same.
[[nodiscard]] Report not_looked(const CheckRequest& request, std::optional<Code> code,
                                std::string reason);

}  // namespace vfsmend
