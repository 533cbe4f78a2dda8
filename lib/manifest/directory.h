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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/manifest.h"
#include "manifest/object.h"
#include "sys/arena.h"
#include "sys/unique_fd.h"

namespace vfsmend {

struct Directory;

struct SeenObject {
  ObjectFacts facts;
  ContentHash hash{};
  NodeId node = 0;
  Directory* below = nullptr;   // what was seen in it
  Look look;
  std::uint32_t bytes_at = 0;   // of its handle, then its target, in the bytes of its piece
  std::uint32_t xattrs = 0;     // 1 + position in the xattrs of its piece; 0: none
  std::int32_t handle_type = 0;
  std::uint16_t target_size = 0;
  std::uint8_t handle_size = 0;
  std::uint8_t notes = 0;       // kHasHash, kOpen
  bool not_hashed = false;      // it should have been, and the budget was used up
  bool not_utf8 = false;        // its name

  // Its facts are those of one object.
  [[nodiscard]] bool is_known() const {
    return look.end == LookEnd::kWhole || look.end == LookEnd::kUnreadable;
  }
  void set_problem(const Look& problem) { look = problem; }
};

// Names that are looked at in one go, by one thread, which has a place of its own for their bytes.
struct Piece {
  std::string bytes;
  std::vector<XattrSet> xattrs;
};
inline constexpr std::size_t kPieceSize = 256;  // names

struct Directory {
  Directory* parent = nullptr;  // null: what holds the share itself
  std::uint32_t entry = 0;      // of it in the parent
  std::uint32_t scope = 0;      // position in the scope, or kNoIndex
  sys::UniqueFd fd;
  bool crowded = false;         // too many are open: what is below goes by path
  std::atomic<std::uint32_t> unfinished{0};  // what still needs `fd`
  std::span<std::string_view> names;         // ascending; a NUL follows each
  std::span<SeenObject> objects;             // by name
  std::vector<Piece> pieces;

  void keep(std::size_t at, const Object& object, const Look& look);
};

// The names of one directory, as they come from the kernel. For one after the other.
class NameList {
 public:
  void clear();
  void add(std::string_view name);
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  // Ascending, each once; good until the next change. A NUL follows each.
  [[nodiscard]] std::span<std::string_view> sorted();

 private:
  std::string text_;
  std::vector<std::size_t> ends_;  // of each, behind its NUL
  std::vector<std::string_view> sorted_;
};

class Directories {
 public:
  // Stays where it is. Thread-safe.
  Directory& add(Directory* parent, std::uint32_t entry, std::uint32_t scope);
  // What is in it. Thread-safe, but for two calls for one directory.
  void set_names(Directory& directory, NameList& names);
  // So many objects of which none has a name.
  void set_nameless(Directory& directory, std::size_t count);
  [[nodiscard]] const std::deque<Directory>& all() const { return all_; }

  // Opens a directory for searching, or for reading too, and makes sure that it is the object that
  // was seen in its parent: else -ENOENT.
  [[nodiscard]] int open(sys::Calls& calls, int share, Directory& directory, bool for_reading);
  // One less of what needs the descriptor of `directory`.
  void finish_one(Directory& directory);
  // Below the share. A long one is cut at its front: "../d/e/f".
  [[nodiscard]] static std::string path_of(const Directory& directory);

 private:
  void set_objects(Directory& directory);
  [[nodiscard]] int open_by_path(sys::Calls& calls, int share, const Directory& directory,
                                 std::uint64_t flags);

  sys::Arena memory_;
  std::mutex mutex_;
  std::deque<Directory> all_;
  std::atomic<int> open_{0};
};

// All names in a directory that is open for reading, but "." and "..". 0 or a negative errno; names
// that were read before an error are there.
[[nodiscard]] int read_names(sys::Calls& calls, int fd, NameList& out);

// Of the first of them, about `most`, of a directory that is open O_PATH, those that are not UTF-8. 1
// where there are more to look at, 0 where those are all, or a negative errno.
[[nodiscard]] int read_unspeakable_names(sys::Calls& calls, int dir, std::size_t most,
                                         NameList& out);

}  // namespace vfsmend
