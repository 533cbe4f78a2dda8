// SPDX-License-Identifier: Apache-2.0
// The record of a snapshot, to be made when it is taken: a section a device, and what the capture
// itself has to warn about (N001, D001). manifest/capture.h does one share.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "manifest/capture.h"
#include "manifest/manifest.h"
#include "manifest/unlinked.h"
#include "sys/unique_fd.h"
#include "verdict/check.h"
#include "verdict/report.h"

namespace vfsmend {

struct CaptureRequest {
  CheckRequest what;  // snapshot, shares, the switches of the source; dialect, namespace
  std::string tree;   // a directory without a snapshot instead of one; empty: a snapshot
  bool whole_tree = false;
  HashScope hash = HashScope::kUsed;
  std::uint64_t hash_budget = kDefaultHashBudget;  // bytes
  bool quiesced = false;   // the guest has written back what it held
  pid_t daemon_pid = 0;    // of the virtiofsd that is paused; 0: not known
  bool keep_unlinked = false;  // keep the bytes of files that are open and have no name
  // Names of the caller's own, to be compared by a check (G001); empty: none.
  std::string snapshot_id;
  std::string sandbox_id;
  std::string parent_id;
  // Puts large tables together, and may be kept for encode_manifest(); null: the capture has its own.
  sys::SecondThread* second = nullptr;
};

// A file whose bytes are to be kept beside the manifest, as kept_path() says, while the daemon lives:
// before the manifest is written, which promises them.
struct KeptFile {
  UnlinkedFile file;
  ContentHash hash{};  // what the manifest says of it: other bytes are not to get its name
};

struct CaptureResult {
  // verdict resume, or Report::reason says why there is no manifest.
  Report report;
  Manifest manifest;
  std::vector<KeptFile> kept;
  sys::UniqueFd daemon;  // where open_unlinked() finds them
};

// kUsage: what the caller asked for cannot be.
[[nodiscard]] Result<CaptureResult> capture_snapshot(sys::Calls& calls,
                                                     const CaptureRequest& request,
                                                     const Progress& progress);

// Where the manifest of a snapshot lies unless somebody says otherwise: in its directory
// ("vfsmend.manifest"), or beside its file ("FILE.vfsmend-manifest").
[[nodiscard]] std::string manifest_path_of(sys::Calls& calls, const std::string& snapshot_path);

}  // namespace vfsmend
