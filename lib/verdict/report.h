// SPDX-License-Identifier: Apache-2.0
// What a check found: vfsmend.report/1 as structs. lib/report prints it; docs/report.schema.json
// describes the JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "snapshot/container.h"
#include "state/dialect.h"
#include "verdict/destination.h"
#include "verdict/finding.h"

namespace vfsmend {

enum class Outcome { kSucceeds, kFails, kHangs, kUnknown };

// "succeeds", "fails", "hangs", "unknown"
[[nodiscard]] std::string_view name_of(Outcome outcome);

// What the loader will do, to the letter of its log.
struct Restore {
  Outcome outcome = Outcome::kUnknown;
  std::optional<std::string> error;    // the loader's text, without the prefixes of its log
  std::optional<std::string> wrapped;  // what the platform prints around it
  std::vector<NodeId> invalid_inodes;  // loaded as stubs that answer EIO; ascending
  std::vector<HandleId> invalid_handles;
  bool dead_mount = false;  // it loads, and every request of the guest fails
};

struct Elsewhere {
  Profile profile{};
  OnError on_error{};
  Outcome outcome = Outcome::kUnknown;
  std::optional<std::string> error;
  bool dead_mount = false;
};

// What a real daemon said when it was asked (vfsmend rehearse), beside what was predicted.
struct Rehearsal {
  std::string version;               // of the daemon: "1.13.2"
  Outcome outcome = Outcome::kUnknown;
  std::optional<std::string> error;  // its own text
  std::vector<NodeId> invalid_inodes;
  std::vector<HandleId> invalid_handles;
  std::optional<std::int64_t> load_us;  // from the state's hand-over to the answer
  bool agrees = false;               // with Restore, texts included
  std::string reason;                // why it was not asked, or what differs; else empty
};

// What vfsmend capture recorded of a device.
struct CaptureSummary {
  std::uint64_t entries = 0;
  std::uint64_t hashed_bytes = 0;
  std::uint64_t unlocated = 0;  // inodes of the state that could not be recorded
};

// The manifest that a capture wrote, or a check was made against.
struct ManifestInfo {
  std::string path;
  std::uint64_t bytes = 0;
  std::string time;  // of the capture, "2026-01-31T12:00:00Z"
};

// A step of a repair, as a report tells it.
struct RepairStep {
  std::string device;
  Code code{};
  std::optional<NodeId> inode;
  std::optional<HandleId> handle;
  std::string path;
  std::string action;
  bool safe = false;
  std::vector<std::string> casualties;
  std::string reason;        // what is wrong
  std::string precondition;  // what has to be so when it is made
  std::string inverse;       // what an undo does
};

// What vfsmend repair would do, or did.
struct RepairSummary {
  bool applied = false;
  std::string journal;  // for undo; empty where nothing was changed
  std::string kept;     // the original
  std::vector<RepairStep> steps;
  std::vector<std::string> left;  // what waits for consent, or for something on the host
  // Not empty: what was repaired is a stream that was taken out of this file, and how it is used.
  std::string extracted_from;
  std::string use;
};

struct DeviceReport {
  std::string id;
  std::optional<std::string> tag;
  std::string shared_dir;
  std::optional<Dialect> dialect;  // nothing where the state cannot be read
  Profile profile{};
  OnError on_error{};
  std::uint64_t inodes = 0;
  std::uint64_t handles = 0;
  Verdict verdict = Verdict::kResume;
  Restore restore;
  std::optional<Rehearsal> rehearsal;  // only where one was asked for
  std::optional<CaptureSummary> capture;  // only of a capture
  std::vector<Elsewhere> elsewhere;
  std::vector<Finding> findings;  // worst first, at most --max-findings
};

struct Timing {  // microseconds
  std::int64_t decode = 0;
  std::int64_t walk = 0;
  std::int64_t hash = 0;
  std::int64_t total = 0;
};

struct Report {
  std::string trace_id;
  std::string snapshot_path;
  std::optional<ContainerKind> container;  // nothing where it could not be told
  std::optional<ManifestInfo> manifest;    // nothing where there was none
  Verdict verdict = Verdict::kResume;
  // Not empty: it could not be judged, and why (a file that is no state, not root, no openat2).
  // Exit 8, verdict indeterminate.
  std::string reason;
  std::vector<Finding> findings;               // of the snapshot as a whole
  std::map<std::string, std::uint64_t> counts;  // by code, whole even where findings were cut
  std::vector<DeviceReport> devices;
  std::vector<std::string> assumptions;
  std::optional<RepairSummary> repair;  // only of a repair
  Timing timing;
};

// The exit codes of a check: 0 resume, 2 coldboot, 4 repair, 5 rebuild, 8 indeterminate.
[[nodiscard]] int exit_code(Verdict verdict);

}  // namespace vfsmend
