// SPDX-License-Identifier: Apache-2.0
// The shared directory as the destination will have it: opened O_PATH, with what the loader opens
// beside it before it looks at a single inode.
#pragma once

#include <sys/stat.h>

#include <map>
#include <string>
#include <vector>

#include "state/fs_state.h"
#include "sys/calls.h"
#include "sys/mount_table.h"
#include "sys/unique_fd.h"
#include "verdict/destination.h"
#include "verdict/open_rules.h"

namespace vfsmend {

// A directory that is not below the share and may be served all the same (Cube's allowed_dirs).
struct AllowedDir {
  std::string given;  // as in the configuration: what the loader opens and prints
  std::string real;   // where it leads; empty where it cannot be opened
  int err = 0;        // errno of the open
};

// Where a node of the state was found.
enum class Zone : std::uint8_t {
  kShare,
  kAllowed,  // in an allowed_dir
  kOutside,  // neither: the guest would see files that were never shared with it
};

struct Share {
  sys::UniqueFd fd;        // O_PATH; invalid where the share cannot be opened
  int err = 0;             // errno of that
  std::string real_path;   // what readlink says of fd: how paths begin in the loader's texts
  struct statx stat{};     // of the share itself
  sys::MountTable mounts;  // of our mount namespace
  // What the daemon makes of its switch here: `prefer` is `never` on a share without handles, for
  // the mounts below it too.
  InodeFileHandles inode_file_handles = InodeFileHandles::kNever;
  std::vector<AllowedDir> allowed;

  // The zone of an absolute path that readlink gave.
  [[nodiscard]] Zone zone_of(std::string_view path) const;
};

[[nodiscard]] Share open_share(sys::Calls& calls, const Destination& destination);

// What statx says of an object, and its mount, as the rules of opening want it.
[[nodiscard]] OpenTarget open_target(const struct statx& stat, const sys::MountTable& mounts);

// How a name may leave the directory in which it is resolved.
enum class Leave {
  kNever,           // no link is followed, no way out is taken: -ELOOP, -EXDEV
  kStayBelow,       // links are followed as long as they stay below: else -EXDEV
  kClampedToShare,  // the directory is the root: "/" and ".." cannot lead out
  kFreely,
};

// Resolves `path` below `dir`, O_PATH only. `follow`: a link at the end too. Returns a descriptor
// or a negative errno.
[[nodiscard]] int open_path(sys::Calls& calls, int dir, const char* path, Leave leave,
                            bool follow);

// `path` begins with the components of `dir`.
[[nodiscard]] bool is_below(std::string_view path, std::string_view dir);

}  // namespace vfsmend
