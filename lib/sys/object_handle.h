// SPDX-License-Identifier: Apache-2.0
// File handles: the file system's own name of an object, generation included. Asking for one opens
// nothing and sends no request to most file systems.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "sys/calls.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {

inline constexpr std::size_t kMaxHandleBytes = 128;  // MAX_HANDLE_SZ

struct ObjectHandle {
  int mount_id = 0;
  std::int32_t type = 0;
  std::uint32_t size = 0;
  std::array<std::uint8_t, kMaxHandleBytes> data{};

  [[nodiscard]] Bytes bytes() const { return {data.data(), size}; }
};

// The handle of what `path` names below `dir` (a final symbolic link itself; flags: AT_EMPTY_PATH
// for `dir` itself). 0, or a negative errno: -EOPNOTSUPP where the file system has none.
[[nodiscard]] int object_handle(Calls& calls, int dir, const char* path, int flags,
                                ObjectHandle& out);

// An overlay's handle (OVL_FILEID_V1): of the layer's object, and the same before and after the copy that a
// first write makes. Without nfs_export it is a name only, and opens nothing.
inline constexpr std::int32_t kOverlayHandle = 0xf8;

// The same as object_handle(), where it need not be one that can be opened: overlays give that out as well,
// from Linux 6.6 on.
[[nodiscard]] int object_name(Calls& calls, int dir, const char* path, int flags, ObjectHandle& out);

// Goes back to the working directory of now when it ends: paths that were given relative to it have to
// mean the same afterwards. For those who open by handle, or enter a mount namespace.
class KeepsWorkingDirectory {
 public:
  explicit KeepsWorkingDirectory(Calls& calls);
  ~KeepsWorkingDirectory();
  KeepsWorkingDirectory(const KeepsWorkingDirectory&) = delete;
  KeepsWorkingDirectory& operator=(const KeepsWorkingDirectory&) = delete;

 private:
  Calls& calls_;
  UniqueFd here_;
};

// Opens by handle, O_PATH only, on the mount of `mount_dir`, a directory (an O_PATH descriptor
// does). The process's working directory is left there: the kernel takes AT_FDCWD for a mount, and
// no O_PATH descriptor. Returns the descriptor or a negative errno.
[[nodiscard]] int open_by_object_handle(Calls& calls, int mount_dir, std::int32_t type, Bytes data);

}  // namespace vfsmend::sys
