// SPDX-License-Identifier: Apache-2.0
// An object of the share that a repair changes: found anew each time, held by a descriptor, and known
// by what a tenant cannot give to another object.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "manifest/object.h"
#include "sys/calls.h"
#include "sys/changes.h"
#include "sys/unique_fd.h"
#include "sys/xattrs.h"

namespace vfsmend {

// What can be put back. ctime, btime and inode numbers cannot.
struct HostFacts {
  std::uint32_t mode = 0;  // permission bits, setuid and setgid among them
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t mtime = 0;  // ns since 1970
  sys::Xattrs xattrs;      // by name ascending
  friend bool operator==(const HostFacts&, const HostFacts&) = default;
};

// Which object it is: a file that is made anew under its number has another birth time.
struct HostIdentity {
  std::uint64_t ino = 0;
  std::int64_t btime = 0;  // kNoTime where the file system has none
  std::uint32_t type = 0;  // S_IFMT of its mode
  friend bool operator==(const HostIdentity&, const HostIdentity&) = default;
};

struct OpenObject {
  sys::UniqueFd fd;  // O_PATH
  HostIdentity identity;
  HostFacts facts;
  ObjectFacts all;
};

// Opens `path` below `share` ("": the share itself; one that begins with "/" is a bind of CubeSandbox),
// through no link and not out of it. Nothing is opened for reading. kSystem.
[[nodiscard]] Result<OpenObject> open_object(sys::Calls& calls, int share, const std::string& path);

// Makes `object` what `wanted` says: mode, owner, attributes, mode again since the kernel takes parts of
// it away, times. In between it never has privileges under an owner that they are not meant for.
// Labels of the host's access control stay. kSystem names what could not be done.
[[nodiscard]] Result<void> put_back(sys::Calls& calls, sys::Changes& changes, const OpenObject& object,
                                    const HostFacts& wanted);

// "mode 0644, owner 0:0": what differs between them, as `b` has it.
[[nodiscard]] std::string difference(const HostFacts& a, const HostFacts& b);

}  // namespace vfsmend
