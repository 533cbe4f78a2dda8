// SPDX-License-Identifier: Apache-2.0
// Looks for every inode of a state where the loader would look: by the same names from the same
// directories, O_PATH at most. What becomes of a miss is the policy's business (restore_model.h).
//
// Cost: one statx(2) an inode, one openat2(2) a directory that has children in the state; nothing
// depends on the size of the tree. A directory's descriptor is closed before the walk descends
// into its largest subtree, so that at most log2(inodes) are held however deep the chain.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "state/node_index.h"
#include "sys/calls.h"
#include "verdict/destination.h"
#include "verdict/load_order.h"
#include "verdict/record.h"
#include "verdict/share.h"

namespace vfsmend {

enum class Fate : std::uint8_t {
  kNotTried,         // the loader does not come to it
  kFound,
  kLost,             // Invalid: the source could not say where it is
  kOpenFailed,       // err: openat
  kNulInName,        // position: where
  kParentStub,       // the parent in the store is a stub
  kHandleDiffers,    // found, and not the object of the stored handle
  kHandleCheckFailed,// err: name_to_handle_at for the comparison
  kUnknownMount,     // location by handle: no mount path for its mount id
  kHandleTooLong,    // location by handle: more than 128 bytes
  kHandleOpenFailed, // err: open_by_handle_at
};

struct Node {
  Fate fate = Fate::kNotTried;
  Zone zone = Zone::kShare;
  bool left_share = false;  // the name itself leads out (a link, "..", a leading slash)
  bool without_handle = false;  // prefer, on a mount without handles: kept as a descriptor
  bool remapped = false;    // in another sandbox's bind, by design: the record is not of it
  std::uint16_t mode = 0;   // S_IFMT and permissions, where found
  std::int32_t err = 0;
  std::uint32_t position = 0;  // kNulInName
  std::uint32_t text = kNoIndex;  // its real path in HostWalk::texts, where names do not give it
};

struct OpenHandle {
  int err = 0;           // errno of the loader's open; 0: it opens
  bool stub = false;     // of a stub: its text is the stub's
  bool unknown = false;  // no such inode in the store: ends the load
};

// A stored handle and what the object of today has.
struct HandleMismatch {
  EntryIndex entry = 0;
  std::int32_t found_type = 0;
  std::vector<std::uint8_t> found;
  std::uint64_t found_ino = 0;
  std::optional<std::string> original_at;  // the stored handle still opens, and that is its path
};

struct HostWalk {
  std::vector<Node> nodes;          // by entry
  std::vector<OpenHandle> handles;  // by position in State::handles
  std::vector<std::string> texts;
  std::vector<HandleMismatch> mismatches;  // ascending by entry
  // Against a record: what changed, by entry (Change); empty without one. And the objects that did.
  std::vector<std::uint16_t> changes;
  std::vector<Today> today;  // ascending by entry
  std::vector<std::uint64_t> dead_mount_paths;  // ids whose path cannot be opened
  bool mount_path_hangs = false;
};

struct WalkInput {
  sys::Calls& calls;
  const State& state;
  const NodeIndex& index;
  const LoadOrder& order;
  const Destination& destination;
  const Share& share;
  const Record* record = nullptr;  // of the capture, if there was one
};

// `share.fd` must be valid.
[[nodiscard]] HostWalk walk_host(const WalkInput& input);

}  // namespace vfsmend
