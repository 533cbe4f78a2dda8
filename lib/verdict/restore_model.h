// SPDX-License-Identifier: Apache-2.0
// The restore on paper: what a loader makes of a state, a host and an error policy. What the graph
// decides comes from load_order.h, what the host decides from host_walk.h; here both are played in
// the loader's order, so that the error it reports first is the one reported here.
//
//  1. options agreed with the guest that the destination has off        (rows 2 to 4)
//  2. with mount paths: the root record, then the mount paths           (5, 6, 12, 31)
//  3. inodes, one by one: refusals of the graph, the policy's cases     (7 to 24)
//  4. handles, in the order of the state                                (25 to 27)
//
// `abort` ends at the first failing inode or handle. `guest-error` puts a stub in its place and
// goes on; refusals of the graph end both. Rows: docs/restore.md.
#pragma once

#include "verdict/loader_text.h"
#include "verdict/report.h"

namespace vfsmend {

// What failed first, for findings that want to name it.
struct Prediction {
  Restore restore;
  std::optional<LoaderError> error;
};

// Of a load whose bytes could be read and whose share could be opened.
[[nodiscard]] Prediction predict(const WalkInput& input, const HostWalk& walk);

// The texts of a load that ends before: an error of the loader as its platform shows it.
[[nodiscard]] Restore failed(const LoaderError& error, const Destination& destination);

// Descriptors: how many inodes and handles the daemon can have open (virtiofsd >= 1.13.2 with
// --rlimit-nofile), or nothing where that is not limited by what we know.
[[nodiscard]] std::optional<std::uint64_t> descriptor_room(const Destination& destination);

// The daemon does not start with fewer descriptors than this.
inline constexpr std::uint64_t kReservedDescriptors = 609;

}  // namespace vfsmend
