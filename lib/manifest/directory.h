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

// What most objects do not have.
struct Uncommon {
  std::uint64_t rdev = 0;
  ContentHash hash{};
  XattrSet xattrs;
  Look look;
  bool not_hashed = false;  // it should have been, and the budget was used up
  bool not_utf8 = false;    // its name
};

// What was seen of an object: small, since a walk has as many of them as the share has names, and
// memory that is touched for the first time is what a capture of a large tree waits for.
struct SeenObject {
  std::uint64_t size = 0;
  std::uint64_t ino = 0;
  std::uint64_t device = 0;     // makedev()
  NodeId node = 0;
  std::int64_t mtime = kNoTime;
  std::int64_t ctime = kNoTime;
  std::int64_t btime = kNoTime;
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t nlink = 0;
  std::uint32_t name_at = 0;    // in the text of its directory
  std::uint32_t bytes_at = 0;   // of its handle, then its target, in the bytes of its piece
  std::uint32_t below = 0;      // 1 + the number of the directory that it is
  std::uint32_t uncommon = 0;   // 1 + position in its piece; 0: it has nothing uncommon
  std::int32_t handle_type = 0;
  std::uint16_t target_size = 0;
  std::uint8_t handle_size = 0;
  std::uint8_t notes = 0;       // kHasHash, kOpen
};

[[nodiscard]] constexpr bool is_known(LookEnd end) {
  return end == LookEnd::kWhole || end == LookEnd::kUnreadable;
}

// Objects that are looked at in one go, by one thread.
struct Piece {
  std::string_view bytes;
  std::vector<Uncommon> uncommon;
};
inline constexpr std::size_t kPieceSize = 256;  // names

struct Directory {
  Directory* parent = nullptr;  // null: what holds the share itself
  std::uint32_t number = 0;     // among all
  std::uint32_t entry = 0;      // of it in the parent
  std::uint32_t scope = 0;      // position in the scope, or kNoIndex
  sys::UniqueFd fd;
  bool crowded = false;         // too many are open: what is below goes by path
  std::atomic<std::uint32_t> unfinished{0};  // what still needs `fd`
  std::string_view text;                     // of the names; a NUL follows each
  std::span<SeenObject> objects;             // by name, ascending
  std::vector<Piece> pieces;
  Look problem;                              // of opening and listing it

  // A NUL follows it.
  [[nodiscard]] std::string_view name(std::size_t at) const {
    if (text.empty()) return text;
    const std::size_t end = at + 1 < objects.size() ? objects[at + 1].name_at : text.size();
    return text.substr(objects[at].name_at, end - 1 - objects[at].name_at);
  }
  [[nodiscard]] const Uncommon* uncommon(std::size_t at) const {
    const std::uint32_t position = objects[at].uncommon;
    return position == 0 ? nullptr : &pieces[at / kPieceSize].uncommon[position - 1];
  }
  // For the thread that looks at its piece: what was seen of one of them, with its handle and target
  // behind the `bytes` of those before it.
  void keep(std::size_t at, const Object& object, const Look& look, std::string& bytes);
  Uncommon& make_uncommon(std::size_t at);
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
  // The bytes of a piece, when all of it has been looked at. Thread-safe, but for one piece.
  void set_bytes(Piece& piece, std::string_view bytes) { piece.bytes = memory_.keep(bytes); }
  [[nodiscard]] const std::deque<Directory>& all() const { return all_; }
  // How an object that was looked at was found in the end.
  [[nodiscard]] Look look_of(const Directory& directory, std::size_t at) const {
    const std::uint32_t below = directory.objects[at].below;
    if (below != 0 && all_[below - 1].problem.end != LookEnd::kWhole) return all_[below - 1].problem;
    const Uncommon* const uncommon = directory.uncommon(at);
    return uncommon == nullptr ? Look{} : uncommon->look;
  }

  // Opens a directory for searching, or for reading too, and makes sure that it is the object that
  // was seen in its parent: else -ENOENT.
  [[nodiscard]] int open(sys::Calls& calls, int share, Directory& directory, bool for_reading);
  // One less of what needs the descriptor of `directory`.
  void finish_one(Directory& directory);
  // Below the share. A long one is cut at its front: "../d/e/f".
  [[nodiscard]] static std::string path_of(const Directory& directory);

 private:
  void set_objects(Directory& directory, std::size_t count);
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
