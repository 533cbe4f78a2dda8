// SPDX-License-Identifier: Apache-2.0
// The device state of a virtio-fs back-end, as it lies on the wire; nothing else is in this file.
// Field for field what virtiofsd calls its serialized state (1.11.0 to 1.14.0) and what
// CubeSandbox's fork of 1.11 writes. codec.h has the grammar of the bytes.
//
// Names and handle bytes are views into the buffer that was decoded: it must outlive the State.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"

namespace vfsmend {

using NodeId = std::uint64_t;    // FUSE node id: what the guest's kernel calls an inode
using HandleId = std::uint64_t;  // FUSE file handle: what FUSE_OPEN gave the guest

inline constexpr NodeId kRootId = 1;  // FUSE_ROOT_ID

// What name_to_handle_at(2) returned on the source.
struct FileHandle {
  std::uint64_t mount_id = 0;  // of the source host; never compared on the destination
  std::int32_t type = 0;       // chosen by the file system, opaque
  Bytes data;                  // at most 128 bytes can be opened (MAX_HANDLE_SZ)
};

// Where the destination finds an inode again. The index on the wire stands behind each.
struct RootNode {};  // 0: the shared directory itself, which the destination names
struct Path {        // 1: a name in a directory that is an inode of the state itself
  NodeId parent = 0;
  std::string_view filename;  // UTF-8; not checked for '/' or ".." by any reader
  std::string_view fullname;  // cube-v1 only: absolute for the entries of allowed_dirs, else ""
};
struct Invalid {};   // 2: the source could not say where it is
struct FullPath {    // 3: relative to the shared directory (v1, --migration-confirm-paths)
  std::string_view filename;
};
struct HandleLocation {  // 4: V2 readers only (--migration-mode file-handles)
  FileHandle handle;
};
using Location = std::variant<RootNode, Path, Invalid, FullPath, HandleLocation>;

struct Inode {
  NodeId id = 0;
  std::uint64_t refcount = 0;  // guest lookups + Path children (+ 2 for the root)
  Location location;
  std::optional<FileHandle> file_handle;  // to compare with (--migration-verify-handles)
};

// A file the guest has open.
struct Handle {
  HandleId id = 0;
  NodeId inode = 0;
  std::int32_t flags = 0;  // of open(2), as the guest's FUSE_OPEN or FUSE_CREATE gave them
};

// What FUSE_INIT agreed on with the guest.
struct NegotiatedOptions {
  bool writeback = false;
  bool announce_submounts = false;
  bool posix_acl = false;
  bool sup_group_extension = false;
};

struct State {
  std::vector<Inode> inodes;
  NodeId next_inode = 0;
  std::vector<Handle> handles;
  HandleId next_handle = 0;
  NegotiatedOptions options;
  // V2 only: source mount id -> path below the shared directory, in the order on the wire. A key
  // that stands twice counts with its last value, as in the readers' maps.
  std::vector<std::pair<std::uint64_t, std::string_view>> mount_paths;
};

template <typename T>
[[nodiscard]] const T* location_as(const Inode& inode) {
  return std::get_if<T>(&inode.location);
}

}  // namespace vfsmend
