// SPDX-License-Identifier: Apache-2.0
// With --inode-file-handles=prefer|mandatory a daemon keeps inodes as file handles, and for each
// mount it meets it wants a descriptor of that mount: it looks the mount id up in its own
// /proc/self/mountinfo and opens the mount point by the text that stands there. The kernel escapes
// blanks, tabs, line breaks and backslashes in it, which virtiofsd (1.13.2, 1.14.0) does not undo; it
// takes any white space of Unicode for the end of a column, where the kernel has blanks only; and a
// mount point may lie below another mount. No inode of such a mount can be loaded then.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "sys/calls.h"
#include "verdict/destination.h"
#include "verdict/share.h"

namespace vfsmend {

class MountProbe {
 public:
  MountProbe(sys::Calls& calls, const Destination& destination, const Share& share)
      : calls_(calls), to_(destination), share_(share) {}

  // The errno with which the daemon fails to open the mount `id`; 0 where it succeeds or need not.
  // May be called by several threads.
  [[nodiscard]] int problem(std::uint64_t id);

 private:
  [[nodiscard]] int look(const sys::Mount& mount);
  // Where the daemon looks for it; nothing where it has no such mount.
  [[nodiscard]] std::optional<std::string> place(const sys::Mount& mount) const;

  sys::Calls& calls_;
  const Destination& to_;
  const Share& share_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, int> known_;
};

}  // namespace vfsmend
