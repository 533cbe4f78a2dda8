// SPDX-License-Identifier: Apache-2.0
// What a capture wrote down: the objects behind a snapshot's inodes (or a whole tree) as they were.
// The state itself holds no mode, owner, time, size, type, identity or content; without this record
// no restore can tell that they changed. manifest_file.h has the bytes.
//
// Entries are columns, all of the same length: a million of them load at the speed
// of memory, and a rule reads only the columns that it needs.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "manifest/column.h"
#include "state/fs_state.h"

namespace vfsmend {

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
  Column<std::uint32_t> parent;  // position of its directory, before its own; root: kNoParent
  TextColumn name;                    // the last component; of the root ""
  Column<NodeId> node;           // of the state; 0: the guest does not know it
  Column<std::uint32_t> mode;    // st_mode: type and permissions
  Column<std::uint32_t> uid;
  Column<std::uint32_t> gid;
  Column<std::uint32_t> nlink;
  Column<std::uint64_t> size;    // bytes
  Column<std::uint32_t> device;  // position in Section::devices
  Column<std::uint64_t> ino;
  Column<std::uint64_t> rdev;    // makedev(); 0 but for devices
  Column<std::int64_t> mtime;    // nanoseconds since 1970; kNoTime: not known
  Column<std::int64_t> ctime;
  Column<std::int64_t> btime;
  Column<std::int32_t> handle_type;  // of name_to_handle_at(2), without its mount id
  TextColumn handle;                  // "": the file system has none
  Column<std::uint32_t> xattrs;  // position in Section::xattr_sets; 0 is the empty one
  TextColumn target;                  // of a symbolic link, else ""
  Column<std::uint8_t> notes;    // EntryNote
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
