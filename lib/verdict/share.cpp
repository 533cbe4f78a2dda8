// SPDX-License-Identifier: Apache-2.0
#include "verdict/share.h"

#include <fcntl.h>
#include <linux/openat2.h>

#include <climits>
#include <cstring>

#include "sys/fd_path.h"
#include "sys/object_handle.h"
#include "sys/walk.h"

namespace vfsmend {
namespace {

// From 1.14 on the daemon does not resolve a share that is itself a symbolic link, unless a slash at
// its end or chroot(2) makes it.
bool follows_share(const Destination& destination) {
  if (destination.is_cube() || destination.version < Version{1, 14, 0}) return true;
  return destination.sandbox == Sandbox::kChroot;
}

AllowedDir open_allowed(sys::Calls& calls, const std::string& given) {
  AllowedDir dir{given, {}, 0};
  const sys::UniqueFd fd(open_path(calls, AT_FDCWD, given.c_str(), Leave::kFreely, true));
  if (!fd.valid()) {
    dir.err = -fd.get();
  } else {
    dir.real = sys::path_of_fd(calls, fd.get()).value_or(given);
  }
  return dir;
}

}  // namespace

bool is_below(std::string_view path, std::string_view dir) {
  while (dir.size() > 1 && dir.back() == '/') dir.remove_suffix(1);
  if (dir == "/") return path.substr(0, 1) == "/";
  return path.substr(0, dir.size()) == dir && (path.size() == dir.size() || path[dir.size()] == '/');
}

Zone Share::zone_of(std::string_view path) const {
  if (is_below(path, real_path)) return Zone::kShare;
  for (const AllowedDir& dir : allowed) {
    if (!dir.real.empty() && is_below(path, dir.real)) return Zone::kAllowed;
  }
  return Zone::kOutside;
}

int open_path(sys::Calls& calls, int dir, const char* path, Leave leave, bool follow) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | (follow ? 0U : static_cast<unsigned>(O_NOFOLLOW));
  switch (leave) {
    case Leave::kNever:
      how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
      break;
    case Leave::kStayBelow: how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS; break;
    case Leave::kClampedToShare: how.resolve = RESOLVE_IN_ROOT; break;
    case Leave::kFreely: break;
  }
  // Where directories are deep a path is longer than the kernel takes at once.
  const bool in_steps = leave == Leave::kNever && !follow && std::strlen(path) >= PATH_MAX;
  return in_steps ? sys::open_below(calls, dir, path, how.flags) : calls.openat2(dir, path, how);
}

OpenTarget open_target(const struct statx& stat, const sys::MountTable& mounts) {
  OpenTarget target;
  target.mode = stat.stx_mode;
  target.uid = stat.stx_uid;
  target.gid = stat.stx_gid;
  target.immutable = (stat.stx_attributes & STATX_ATTR_IMMUTABLE) != 0;
  target.append_only = (stat.stx_attributes & STATX_ATTR_APPEND) != 0;
  if (const auto mount = mounts.find(stat.stx_mnt_id); mount != mounts.end()) {
    target.mount_read_only = mount->second.mount_read_only;
    target.super_read_only = mount->second.super_read_only;
  }
  return target;
}

Share open_share(sys::Calls& calls, const Destination& destination) {
  Share share;
  for (const std::string& dir : destination.allowed_dirs) {
    share.allowed.push_back(open_allowed(calls, dir));
  }
  const char* path = destination.shared_dir.c_str();
  share.fd = sys::UniqueFd(
      open_path(calls, AT_FDCWD, path, Leave::kFreely, follows_share(destination)));
  if (!share.fd.valid()) {
    share.err = -share.fd.get();
    return share;
  }
  constexpr unsigned kMask = STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID;
  const int err = calls.statx(share.fd.get(), "", AT_EMPTY_PATH, kMask, share.stat);
  if (err < 0) {
    share.err = -err;
    share.fd.reset();
    return share;
  }
  share.real_path = sys::path_of_fd(calls, share.fd.get()).value_or(destination.shared_dir);
  if (auto mounts = sys::read_mount_table(calls)) share.mounts = std::move(*mounts);
  share.inode_file_handles = destination.inode_file_handles;
  sys::ObjectHandle handle;
  if (destination.inode_file_handles == InodeFileHandles::kPrefer &&
      sys::object_handle(calls, share.fd.get(), "", AT_EMPTY_PATH, handle) == -EOPNOTSUPP) {
    share.inode_file_handles = InodeFileHandles::kNever;
  }
  return share;
}

}  // namespace vfsmend
