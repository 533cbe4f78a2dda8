// SPDX-License-Identifier: Apache-2.0
// A problem as data: what is wrong with one subject of the snapshot, what the guest would see, and
// what repairs it. Codes are those of codes.def; ids are never reused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/fs_state.h"
#include "state/node_index.h"
#include "verdict/codes.h"

namespace vfsmend {

// In the order of badness: the worst of all findings is the verdict of a device, the worst of all
// devices that of the snapshot.
enum class Verdict { kResume, kRepair, kColdboot, kRebuild, kIndeterminate };

// "resume", "repair", "coldboot", "rebuild", "indeterminate"
[[nodiscard]] std::string_view name_of(Verdict verdict);
[[nodiscard]] inline Verdict worst(Verdict a, Verdict b) { return a < b ? b : a; }

// What is to be done, in the order in which it is done.
enum class Mend : std::uint8_t {
  kNone,
  kWriteRoot,     // inode 1 becomes the root record
  kDropLost,      // the same, and all other inodes and handles go
  kDropInode,     // with all that hangs on it
  kDropHandle,    // an orphan, or all but the last of one id
  kCorrectCount,  // of an inode, to hold its children
  kRaiseNextIds,
  kRewritePath,   // Remedy::to: path below the share
  kRewriteFullname,  // Remedy::to: an allowed_dir of CubeSandbox
  kStripHandles,  // stored file handles, of all inodes
  kChangeFlags,   // Remedy::flags, of a handle
  kCutTrailing,
  // On the host, to what the capture recorded at Remedy::recorded:
  kHostMode,
  kHostOwner,
  kHostXattrs,
  kHostTimes,
  kKeptBytes,  // Remedy::from becomes a hidden file, and the inode's path leads to it
};

[[nodiscard]] inline bool is_on_host(Mend mend) { return mend >= Mend::kHostMode; }

// What has to be said before a step may be made: a report cannot ask for it.
enum class Switch : std::uint8_t {
  kNone,
  kPrivileges,  // --allow-privileges: setuid, setgid, capabilities
};

// What would mend it. Plain data: lib/repair makes steps of it.
struct Remedy {
  std::string action;  // for a person: "drop the inode from the state"
  bool safe = false;   // nothing that the guest holds is lost by it
  std::vector<std::string> casualties;  // what is lost, where safe is false: "handle 0 (O_RDWR)"
  Mend mend = Mend::kNone;
  std::string to{};
  std::int32_t flags = 0;
  std::uint32_t recorded = kNoIndex;  // position in the entries of the capture's section
  Switch needs = Switch::kNone;
};

using Facts = std::vector<std::pair<std::string, std::string>>;

struct Finding {
  Code code{};
  Verdict verdict = Verdict::kResume;  // what this finding alone asks for
  std::optional<NodeId> inode;
  std::optional<HandleId> handle;
  std::string path;   // bytes as on disk, from the share's root; empty where there is none
  bool open = false;  // the guest has a handle on it
  std::string message;
  Facts before;  // as the state or the manifest has it
  Facts after;   // as the host has it
  std::string guest_sees;
  std::optional<Remedy> repair;
};

}  // namespace vfsmend
