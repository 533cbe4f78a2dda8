// SPDX-License-Identifier: Apache-2.0
// /proc/self/mountinfo, by mount id: what statx(2) does not say of a mount.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "sys/calls.h"

namespace vfsmend::sys {

struct Mount {
  std::uint64_t id = 0;
  std::string device;         // "0:42": of the file system, as stat has it
  std::string root;           // what of the file system is mounted; octal escapes undone
  std::string mount_point;    // octal escapes of mountinfo undone
  std::string listed_point;   // as it stands there
  std::string listed_root;    // the same of what of the file system is mounted
  std::string fs_type;        // "ext4", "fuse.s3fs"
  std::string source;         // "/dev/vda1"
  std::string options;        // of the mount, then of the file system: "rw,noatime;rw,errors=.."
  bool mount_read_only = false;  // this mount
  bool super_read_only = false;  // the file system behind it
  bool utf8 = true;              // its line: a program in Rust reads all of them or none
};

using MountTable = std::unordered_map<std::uint64_t, Mount>;

// The mounts of the mount namespace this process is in. A line that cannot be parsed is passed
// over: it cannot be the mount of anything that is looked up by id.
[[nodiscard]] Result<MountTable> read_mount_table(Calls& calls);

// A path as mountinfo writes it: white space and backslashes as \040, \011, \012 and \134.
[[nodiscard]] std::string listed(std::string_view path);

[[nodiscard]] MountTable parse_mount_table(std::string_view mountinfo);

}  // namespace vfsmend::sys
