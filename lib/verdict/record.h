// SPDX-License-Identifier: Apache-2.0
// What a capture recorded of a device, laid beside its state: for each inode the object that it was,
// and how what stands there today differs from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manifest/manifest.h"
#include "manifest/object.h"
#include "state/node_index.h"
#include "sys/calls.h"
#include "sys/object_handle.h"
#include "verdict/load_order.h"
#include "verdict/mount_kinds.h"

namespace vfsmend {

// How an object of today differs from the recorded one: a bit set.
enum Change : std::uint16_t {
  kCompared = 1,      // there is a record, and something stands at the name
  kOtherObject = 2,   // by file handle, else by inode number and birth time
  kSameNumber = 4,    // with kOtherObject: its inode number is the recorded one
  kOtherType = 8,
  kOtherMode = 16,    // permission bits
  kOtherOwner = 32,
  kOtherSize = 64,
  kOtherMtime = 128,
  kOtherCtime = 256,
  kOtherXattrs = 512,
  kOtherLabel = 1024,   // the security label among them
  kOtherLinks = 2048,   // number of names
  kOtherDevice = 4096,  // number of the file system
  kUncertain = 8192,    // the record is as young as a clock tick: an equal ctime proves nothing
};

// An object that differs.
struct Today {
  EntryIndex entry = 0;
  ObjectFacts facts;
  std::string handle;  // "": none
  sys::Xattrs xattrs;  // where they were read
};

// The file handle of an object, asked for when somebody wants it, once.
class LazyHandle {
 public:
  LazyHandle(sys::Calls& calls, int dir, const char* name, int flags)
      : calls_(calls), dir_(dir), name_(name), flags_(flags) {}

  // 0, or a negative errno.
  int ask() {
    if (err_ > 0) err_ = sys::object_name(calls_, dir_, name_, flags_, handle_);
    return err_;
  }
  [[nodiscard]] const sys::ObjectHandle& value() const { return handle_; }
  [[nodiscard]] int dir() const { return dir_; }
  [[nodiscard]] const char* name() const { return name_; }

 private:
  sys::Calls& calls_;
  int dir_;
  const char* name_;
  int flags_;
  int err_ = 1;
  sys::ObjectHandle handle_;
};

class Record {
 public:
  // Keeps references: all must outlive it. `captured_at`: ns since 1970.
  Record(const ManifestSection& section, std::int64_t captured_at, const State& state,
         const NodeIndex& index, const LoadOrder& order);

  [[nodiscard]] const ManifestSection& section() const { return section_; }
  [[nodiscard]] std::int64_t captured_at() const { return captured_at_; }
  // Position in the section's entries of what `entry` of the state was, or kNoIndex.
  [[nodiscard]] std::uint32_t position(EntryIndex entry) const { return position_[entry]; }
  // More than its name is known.
  [[nodiscard]] bool is_known(std::uint32_t position) const;
  // Of the file system that it lay on.
  [[nodiscard]] MountKind kind_at(std::uint32_t position) const { return kinds_.at(position); }
  // The entry `name` of the directory at `directory`, or kNoIndex.
  [[nodiscard]] std::uint32_t find(std::uint32_t directory, std::string_view name) const;
  // The state's inodes that stand in no record though they have a place: of another generation.
  [[nodiscard]] std::uint64_t unknown_inodes() const { return unknown_; }

  // What `stat` and `handle` are of is the object that was recorded at `position`.
  [[nodiscard]] bool is_same(std::uint32_t position, const struct statx& stat,
                             LazyHandle& handle) const;
  // Changes of what stands at the name of `handle` today. Fills `today` where there are any.
  [[nodiscard]] std::uint16_t compare(sys::Calls& calls, std::uint32_t position,
                                      const struct statx& stat, LazyHandle& handle,
                                      Today& today) const;

 private:
  [[nodiscard]] bool is_hidden(const Inode& inode) const;
  void find_by_node(const NodeIndex& index);
  void find_by_path(const State& state, const LoadOrder& order);

  const ManifestSection& section_;
  MountKinds kinds_;
  std::int64_t captured_at_;
  std::size_t first_child_;                  // where entries with a parent begin
  std::vector<std::uint32_t> position_;      // by entry of the state
  std::uint64_t unknown_ = 0;
};

// kOtherObject, kSameNumber, kOtherType, kOtherDevice: whether `now` and `handle` are of the object that
// was recorded at `position` of the section. Fills `today.handle` where it is another.
[[nodiscard]] std::uint16_t identity_changes(const ManifestSection& section, const MountKinds& kinds,
                                             std::uint32_t position, const ObjectFacts& now,
                                             LazyHandle& handle, Today& today);

// The name of an attribute that holds a security label.
[[nodiscard]] bool is_label(std::string_view xattr);

}  // namespace vfsmend
