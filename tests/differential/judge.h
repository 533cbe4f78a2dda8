// SPDX-License-Identifier: Apache-2.0
// The model against the daemon, for one load.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "daemon/daemon_log.h"
#include "verdict/report.h"

namespace vfsmend::differential {

struct Survivor {
  std::uint64_t lookups = 0;  // references that are the guest's own
  friend bool operator==(const Survivor&, const Survivor&) = default;
};

struct OpenFile {
  NodeId inode = 0;
  std::int32_t flags = 0;
  friend bool operator==(const OpenFile&, const OpenFile&) = default;
};

// What is left of a state in a daemon that has loaded it.
struct Remains {
  std::map<NodeId, Survivor> inodes;
  std::map<HandleId, OpenFile> handles;
  friend bool operator==(const Remains&, const Remains&) = default;
};

struct Predicted {
  Restore restore;
  Verdict verdict = Verdict::kResume;
  bool starts = true;  // the daemon gets as far as a load
  std::string root;    // in front of the paths of its texts: the share, where it is its root
  // Of ids that stand once in the state.
  std::map<NodeId, std::string> inode_texts;
  std::map<HandleId, std::string> handle_texts;
  std::optional<Remains> remains;  // where the load succeeds
};

struct Seen {
  enum class End { kLoaded, kFailed, kHung, kNotStarted };
  End end = End::kFailed;
  daemon::DaemonLog log;
  std::optional<Remains> remains;  // of the state that it saved again
};

[[nodiscard]] Predicted predicted(Bytes state, const Destination& destination);

// What a state that was saved after a load says of what is left.
[[nodiscard]] Remains remains_of(Bytes saved);

// What differs, in words; empty where nothing does.
[[nodiscard]] std::vector<std::string> differences(const Predicted& predicted, const Seen& seen);

}  // namespace vfsmend::differential
