// SPDX-License-Identifier: Apache-2.0
// The directories of a walk (tree_look.h), with what was seen in them.
//
// A directory's descriptor stays open until all that is to be opened from it is open. Where too many
// are open already, what hangs below it is opened by its path instead, beneath the share and through
// no link.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "manifest/manifest.h"
#include "manifest/object.h"
#include "sys/unique_fd.h"

namespace vfsmend {

struct Directory;

struct SeenObject {
  ObjectFacts facts;
  ContentHash hash{};
  NodeId node = 0;
  Directory* below = nullptr;   // what was seen in it
  Look look;
  std::uint32_t bytes_at = 0;   // of its handle, then its target, in Directory::bytes
  std::uint32_t xattrs = 0;     // 1 + position in Directory::xattrs of its piece; 0: none
  std::int32_t handle_type = 0;
  std::uint16_t target_size = 0;
  std::uint8_t handle_size = 0;
  std::uint8_t notes = 0;       // kHasHash, kOpen
  bool not_hashed = false;      // it should have been, and the budget was used up

  // Its facts are those of one object.
  [[nodiscard]] bool is_known() const {
    return look.end == LookEnd::kWhole || look.end == LookEnd::kUnreadable;
  }
  void set_problem(const Look& problem) { look = problem; }
};

struct Directory {
  // Names that are looked at in one go, by one thread, which has a place of its own for their bytes.
  static constexpr std::size_t kPiece = 256;
  struct Piece {
    std::string bytes;
    std::vector<XattrSet> xattrs;
  };

  Directory* parent = nullptr;  // null: what holds the share itself
  std::uint32_t entry = 0;      // of it in the parent
  std::uint32_t scope = 0;      // position in the scope, or kNoIndex
  sys::UniqueFd fd;
  bool crowded = false;         // too many are open: what is below goes by path
  std::atomic<std::uint32_t> unfinished{0};  // what still needs `fd`
  TextColumn names;             // ascending
  std::vector<SeenObject> objects;
  std::vector<Piece> pieces;

  void set_names(const std::vector<std::string>& sorted);
  void keep(std::size_t at, const Object& object, const Look& look);
};

class Directories {
 public:
  // Stays where it is. Thread-safe.
  Directory& add(Directory* parent, std::uint32_t entry, std::uint32_t scope);
  [[nodiscard]] const std::deque<Directory>& all() const { return all_; }

  // Opens a directory for searching, or for reading too, and makes sure that it is the object that
  // was seen in its parent: else -ENOENT.
  [[nodiscard]] int open(sys::Calls& calls, int share, Directory& directory, bool for_reading);
  // One less of what needs the descriptor of `directory`.
  void finish_one(Directory& directory);
  // Below the share. A long one is cut at its front: "../d/e/f".
  [[nodiscard]] static std::string path_of(const Directory& directory);

 private:
  [[nodiscard]] int open_by_path(sys::Calls& calls, int share, const Directory& directory,
                                 std::uint64_t flags);

  std::mutex mutex_;
  std::deque<Directory> all_;
  std::atomic<int> open_{0};
};

// All names in a directory that is open for reading, but "." and "..". 0 or a negative errno; names
// that were read before an error are there.
[[nodiscard]] int read_names(sys::Calls& calls, int fd, std::vector<std::string>& out);

// The first of them, about `most`, of a directory that is open O_PATH. 1 where there are more, 0
// where those are all, or a negative errno.
[[nodiscard]] int read_some_names(sys::Calls& calls, int dir, std::size_t most,
                                  std::vector<std::string>& out);

}  // namespace vfsmend
