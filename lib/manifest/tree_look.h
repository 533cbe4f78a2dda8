// SPDX-License-Identifier: Apache-2.0
// Looks at a tree, or at the names of a scope in it, and makes a table of what is there.
//
//  1. A directory is opened from its parent's descriptor and listed (whole tree), or the scope says
//     which names of it matter. They are sorted, and looked at in pieces, on several threads.
//  2. Directories among them become tasks of their own, last found first, so that few wait.
//  3. When all is done the table is put together breadth first: it does not depend on the threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/manifest.h"
#include "manifest/object.h"
#include "manifest/scope.h"
#include "sys/second_thread.h"

namespace vfsmend {

enum class HashScope { kNone, kUsed, kAll };  // used: what the guest has open

// An inode of the state that is located by file handle, and whose path cannot be told: a file that no
// name has led to yet. It stands in the table beside the share, with no name and no parent.
struct LooseInode {
  NodeId node = 0;
  bool open = false;
  int mount_dir = -1;  // a directory on its mount
  const FileHandle* handle = nullptr;
};

struct TreeLookInput {
  sys::Calls& calls;
  int share = -1;  // O_PATH or open for reading; a directory, or the one file that is shared
  const Scope& scope;
  std::span<const LooseInode> loose;
  // Told the directory that is looked at, relative to the share. Calls do not overlap.
  std::function<void(std::string_view path)> progress;
  // Told about how many bytes the table is going to take, as CheckRequest::expect_memory.
  std::function<void(std::uint64_t bytes)> expect_memory = nullptr;
  bool whole_tree = false;
  HashScope hash = HashScope::kUsed;
  std::uint64_t hash_budget = 0;  // bytes to be read for hashes, at most
  sys::SecondThread* second = nullptr;  // puts a large table together; null: one of its own
  unsigned helpers = 0;           // threads beside this one,
  unsigned most_helpers = 0;      // and as long as they wait for a disk or a server
};

// Something of the share that is not in the table as it should be.
struct TreeNote {
  enum class Kind { kUnreadable, kChanging, kVanished, kNotUtf8, kNotHashed };
  Kind kind{};
  std::uint32_t entry = 0;  // position in the table
  int err = 0;              // kUnreadable
  std::string what;         // kUnreadable: "extended attributes", "directory"
};

struct TreeLook {
  EntryTable entries;
  std::vector<std::uint64_t> devices;
  std::vector<XattrSet> xattr_sets;
  std::vector<TreeNote> notes;  // by entry ascending
  std::uint64_t hashed_bytes = 0;
  bool listing_cut = false;  // some directory of the scope was too large to be searched for names
                             // that are not UTF-8
};

[[nodiscard]] TreeLook look_at_tree(const TreeLookInput& input);

// The path of an entry below the share, "" for the share itself. At most about 4 KiB of it.
[[nodiscard]] std::string path_of(const EntryTable& entries, std::uint32_t entry);

}  // namespace vfsmend
