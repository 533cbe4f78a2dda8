// SPDX-License-Identifier: Apache-2.0
// Makes the record of one share: what lies behind the inodes of a state, or the whole tree.
// Nothing is opened but directories, and files whose content is to be hashed.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "manifest/manifest.h"
#include "manifest/directory.h"
#include "manifest/tree_look.h"
#include "state/node_index.h"
#include "sys/calls.h"

namespace vfsmend {

// 1 GiB: what a capture reads for hashes unless it is told otherwise.
inline constexpr std::uint64_t kDefaultHashBudget = std::uint64_t{1} << 30;

struct CaptureInput {
  sys::Calls& calls;
  std::string share;             // as it was given
  std::string device;            // id; "" for a tree without a snapshot
  const State* state = nullptr;  // none: a tree without a snapshot, which is captured whole
  Bytes state_bytes;             // it was decoded from these
  bool whole_tree = false;
  HashScope hash = HashScope::kUsed;
  std::uint64_t hash_budget = kDefaultHashBudget;
  std::function<void(std::string_view stage)> progress;
  // Told about how many bytes the table is going to take, as CheckRequest::expect_memory.
  std::function<void(std::uint64_t bytes)> expect_memory = nullptr;
  sys::SecondThread* second = nullptr;  // as TreeLookInput
};

struct Captured {
  ManifestSection section;
  std::vector<TreeNote> notes;
  std::uint64_t hashed_bytes = 0;
  bool listing_cut = false;
  // Inodes of the state that are not in the record: lost by the source, or below what is.
  std::uint64_t unlocated = 0;
};

// Errors (kSystem): the share or the mount table cannot be read.
[[nodiscard]] Result<Captured> capture_share(const CaptureInput& input);

// XXH3-128 of a state's bytes as hex: fact "state-xxh3" of its section. A repair that changes the
// state adds another of them.
[[nodiscard]] std::string state_digest(Bytes state);

// The value of the first fact with that key, or "".
[[nodiscard]] std::string_view fact(const std::vector<std::pair<std::string, std::string>>& facts,
                                    std::string_view key);

}  // namespace vfsmend
