// SPDX-License-Identifier: Apache-2.0
// A node map: which file each FUSE node id stood for, as the guest's kernel knew it. It gives a
// state whose locations were lost its paths back (docs/restore.md).
//
//   {"schema":"vfsmend.nodemap/1","tool":..,"time":..,"mount":..,"fs_type":..,"source":..,
//    "entries":[{"node":"6","ino":"7340","path":..,"kind":"fd","nlink":1,"pid":7,"fd":3,"flags":32770}],
//    "warnings":[..]}
//
// One JSON document; vfsmend-nodemap(1) has its fields. Ids are decimal strings, and a path that is
// not UTF-8 stands as base64 in "path_b64" in place of "path". The file comes out of a guest: it is
// read as hostile input, and nothing in it is believed before the host agrees (nodemap_check.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "state/fs_state.h"
#include "sys/calls.h"

namespace vfsmend {

enum class HolderKind : std::uint8_t { kFd, kCwd, kRoot, kExe, kMap };

// "fd", "cwd", "root", "exe", "map"
[[nodiscard]] std::string_view name_of(HolderKind kind);

// One use of a node by one process. A node may be held many times, and under several names.
struct NodeMapEntry {
  NodeId node = 0;
  std::uint64_t ino = 0;  // as the guest has it cached: the number on the host
  std::string path;       // bytes, from the root of the shared directory; "" is that root
  HolderKind kind = HolderKind::kFd;
  std::int32_t pid = 0;     // in the guest
  std::int32_t fd = -1;     // kFd only
  std::int32_t flags = -1;  // kFd only: of open(2), as the guest's fdinfo has them
  std::int32_t nlink = 1;   // as the guest has it cached
  // The kernel put " (deleted)" behind the name, which is not part of `path`: it is unlinked, or a
  // look at it went wrong (a server that answers with an error). Of a file that the guest unlinked
  // nlink is 0.
  bool deleted = false;

  bool operator==(const NodeMapEntry&) const = default;
};

struct NodeMap {
  std::string tool;
  std::string time;                   // "2026-01-31T12:00:00Z"
  std::string mount_point;            // in the guest
  std::string fs_type;                // "virtiofs"
  std::string source;                 // of the mount: the tag of the device
  std::vector<NodeMapEntry> entries;  // by node
  std::vector<std::string> warnings;  // what could not be looked at: its nodes are missing
};

[[nodiscard]] std::string node_map_text(const NodeMap& map);

// kFormat, kUnsupported with the place.
[[nodiscard]] Result<NodeMap> parse_node_map(std::string_view bytes);

// At most 64 MiB. The error begins with the path.
[[nodiscard]] Result<NodeMap> read_node_map(sys::Calls& calls, const std::string& path);

}  // namespace vfsmend
