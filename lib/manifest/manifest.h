// SPDX-License-Identifier: Apache-2.0
// What a capture wrote down: the objects behind a snapshot's inodes (or a whole tree) as they were.
// The state itself holds no mode, owner, time, size, type, identity or content; without this record
// no restore can tell that they changed. manifest_file.h has the bytes.
//
// Entries are columns, one vector each, all of the same length: a million of them load at the speed
// of memory, and a rule reads only the columns that it needs.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/fs_state.h"

namespace vfsmend {

// Texts one behind the other. Bytes as they are: a name need not be UTF-8.
class TextColumn {
 public:
  TextColumn() = default;
  // `ends` of the texts in `bytes`, ascending; the last is its size.
  TextColumn(std::string bytes, std::vector<std::uint64_t> ends)
      : bytes_(std::move(bytes)), ends_(std::move(ends)) {}
  void add(std::string_view text) {
    bytes_.append(text);
    ends_.push_back(bytes_.size());
  }
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] std::string_view operator[](std::size_t i) const {
    const std::uint64_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<std::uint64_t>& ends() const { return ends_; }
  friend bool operator==(const TextColumn&, const TextColumn&) = default;

 private:
  std::string bytes_;
  std::vector<std::uint64_t> ends_;
};

inline constexpr std::uint32_t kNoParent = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::size_t kMaxHandleBytes = 128;  // MAX_HANDLE_SZ
inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

// Bits of EntryTable::notes.
enum EntryNote : std::uint8_t {
  kChangedMeanwhile = 1,  // it changed while it was looked at: nothing is known but its name
  kVanished = 2,          // it was gone before it could be looked at
  kUnreadable = 4,        // some of it could not be read (a warning of the capture names it)
  kHasHash = 8,           // its content was hashed
  kOpen = 16,             // the guest has it open
};

struct EntryTable {
  std::vector<std::uint32_t> parent;  // position of its directory, before its own; root: kNoParent
  TextColumn name;                    // the last component; of the root ""
  std::vector<NodeId> node;           // of the state; 0: the guest does not know it
  std::vector<std::uint32_t> mode;    // st_mode: type and permissions
  std::vector<std::uint32_t> uid;
  std::vector<std::uint32_t> gid;
  std::vector<std::uint32_t> nlink;
  std::vector<std::uint64_t> size;    // bytes
  std::vector<std::uint32_t> device;  // position in Section::devices
  std::vector<std::uint64_t> ino;
  std::vector<std::uint64_t> rdev;    // makedev(); 0 but for devices
  std::vector<std::int64_t> mtime;    // nanoseconds since 1970; kNoTime: not known
  std::vector<std::int64_t> ctime;
  std::vector<std::int64_t> btime;
  std::vector<std::int32_t> handle_type;  // of name_to_handle_at(2), without its mount id
  TextColumn handle;                  // "": the file system has none
  std::vector<std::uint32_t> xattrs;  // position in Section::xattr_sets; 0 is the empty one
  TextColumn target;                  // of a symbolic link, else ""
  std::vector<std::uint8_t> notes;    // EntryNote
  // XXH3-128 of the content, low half first; all zero without kHasHash. Empty: none was asked for.
  std::vector<std::array<std::uint64_t, 2>> hash;

  [[nodiscard]] std::size_t size_of() const { return parent.size(); }
  friend bool operator==(const EntryTable&, const EntryTable&) = default;
};

// Extended attributes of a file, by name ascending: ACLs, capabilities and labels among them.
using XattrSet = std::vector<std::pair<std::string, std::string>>;

// A mount at or below the share.
struct ManifestMount {
  std::uint64_t id = 0;      // of the host that captured
  std::string place;         // below the share; "" is the share itself
  std::string fs_type;       // "ext4"
  std::string source;        // "/dev/vda1"
  std::string options;       // of the mount, then of the file system: "rw,noatime;rw,errors=.."
  bool read_only = false;        // the mount
  bool super_read_only = false;  // the file system behind it
  friend bool operator==(const ManifestMount&, const ManifestMount&) = default;
};

// One device of the snapshot, or a tree without one (device "").
struct ManifestSection {
  std::string device;      // "virtio_rw"
  std::string share;       // as it was given
  std::string real_share;  // as it was resolved
  std::uint64_t fs_magic = 0;  // f_type of statfs(2)
  std::uint64_t fs_id = 0;     // f_fsid
  bool whole_tree = false;     // every file; else those of the state, and their directories
  std::vector<std::pair<std::string, std::string>> facts;  // "state-xxh3", "profile", "sandbox", ..
  std::vector<std::uint64_t> devices;  // st_dev values that occur
  std::vector<XattrSet> xattr_sets;    // the first is the empty one
  std::vector<ManifestMount> mounts;
  EntryTable entries;
  friend bool operator==(const ManifestSection&, const ManifestSection&) = default;
};

struct Manifest {
  std::vector<std::pair<std::string, std::string>> facts;  // "tool", "time", "snapshot-id", ..
  std::vector<ManifestSection> sections;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

}  // namespace vfsmend
