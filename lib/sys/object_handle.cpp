// SPDX-License-Identifier: Apache-2.0
#include "sys/object_handle.h"

#include <fcntl.h>
#include <linux/openat2.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace vfsmend::sys {
namespace {

// struct file_handle with room for the longest handle there is. What is not used is not written: a walk
// asks for as many handles as a share has names.
struct HandleBuffer {
  HandleBuffer() {}
  alignas(file_handle) std::array<unsigned char, sizeof(file_handle) + kMaxHandleBytes> raw;

  file_handle& get() { return *reinterpret_cast<file_handle*>(raw.data()); }
};

}  // namespace

KeepsWorkingDirectory::KeepsWorkingDirectory(Calls& calls) : calls_(calls) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  here_ = UniqueFd(calls.openat2(AT_FDCWD, ".", how));
}

KeepsWorkingDirectory::~KeepsWorkingDirectory() {
  // One that was removed, or that may not be entered any more, leaves nothing to go back to.
  if (here_.valid()) static_cast<void>(calls_.fchdir(here_.get()));
}

int object_handle(Calls& calls, int dir, const char* path, int flags, ObjectHandle& out) {
  HandleBuffer buffer;
  file_handle& handle = buffer.get();
  handle.handle_bytes = kMaxHandleBytes;
  const int err = calls.name_to_handle_at(dir, path, handle, out.mount_id, flags);
  if (err < 0) return err;
  out.type = handle.handle_type;
  out.size = std::min<std::uint32_t>(handle.handle_bytes, kMaxHandleBytes);
  std::memcpy(out.data.data(), handle.f_handle, out.size);
  return 0;
}

int object_name(Calls& calls, int dir, const char* path, int flags, ObjectHandle& out) {
  constexpr int kHandleFid = 0x200;  // AT_HANDLE_FID, of Linux 6.5
  const int err = object_handle(calls, dir, path, flags, out);
  if (err != -EOPNOTSUPP) return err;
  // Others that have no handles make such a name up of a generation that is gone with the cached inode.
  ObjectHandle name;
  if (object_handle(calls, dir, path, flags | kHandleFid, name) < 0 || name.type != kOverlayHandle) return err;
  out = name;
  return 0;
}

int open_by_object_handle(Calls& calls, int mount_dir, std::int32_t type, Bytes data) {
  VFSMEND_CHECK(data.size() <= kMaxHandleBytes);
  HandleBuffer buffer;
  file_handle& handle = buffer.get();
  handle.handle_bytes = static_cast<unsigned>(data.size());
  handle.handle_type = type;
  if (!data.empty()) std::memcpy(handle.f_handle, data.data(), data.size());
  const int err = calls.fchdir(mount_dir);
  if (err < 0) return err;
  return calls.open_by_handle_at(AT_FDCWD, handle, O_PATH | O_CLOEXEC);
}

}  // namespace vfsmend::sys
