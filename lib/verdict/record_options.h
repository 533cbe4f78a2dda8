// SPDX-License-Identifier: Apache-2.0
// How a check uses the record of a capture.
#pragma once

#include <cstdint>
#include <string>

#include "manifest/manifest.h"
#include "verdict/policy.h"

namespace vfsmend {

// 256 MiB: what a check reads to compare contents unless it is told otherwise.
inline constexpr std::uint64_t kDefaultCheckBudget = std::uint64_t{256} << 20;

struct RecordOptions {
  const Manifest* manifest = nullptr;
  std::string manifest_path;   // as it is told
  // O_PATH, of its directory, where kept files lie: good in every mount namespace. -1: none.
  int manifest_directory = -1;
  // Not empty: nothing on the host is changed by this record, and why ("owned by user 1000").
  std::string distrust;
  Policy policy;
  bool allow_rebind = false;   // another root is taken for the share, if contents are equal
  bool allow_remount = false;  // mounts may be made what they were: R003 is a repair
  bool allow_privileges = false;  // a repair may put setuid, setgid and capabilities back
  bool state_only = false;        // a repair changes nothing on the host
  bool search = false;         // look for moved objects in the whole share
  std::uint64_t hash_budget = kDefaultCheckBudget;  // bytes
  // The caller's own names of what is resumed; empty: not compared.
  std::string snapshot_id;
  std::string sandbox_id;
};

}  // namespace vfsmend
