// SPDX-License-Identifier: Apache-2.0
#include "verdict/mount_probe.h"

#include <sys/stat.h>

#include <cerrno>

namespace vfsmend {

int MountProbe::problem(std::uint64_t id) {
  if (share_.inode_file_handles == InodeFileHandles::kNever) return 0;
  // In a sandbox the share's own mount is "/".
  if (to_.share_is_root() && id == share_.stat.stx_mnt_id) return 0;
  const auto mount = share_.mounts.find(id);
  if (mount == share_.mounts.end()) return 0;
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = known_.try_emplace(id, 0);
  if (is_new) known->second = look(mount->second);
  return known->second;
}

int MountProbe::look(const sys::Mount& mount) {
  std::string_view point = mount.listed_point;
  sys::UniqueFd fd;
  if (to_.share_is_root()) {
    // The table of the sandbox begins at the share; what is listed begins where the share does.
    const std::string share = sys::listed(share_.real_path);
    if (!is_below(point, share)) return 0;
    point.remove_prefix(share.size());
    while (point.starts_with('/')) point.remove_prefix(1);
    const std::string below(point.empty() ? "." : point);
    fd = sys::UniqueFd(open_path(calls_, share_.fd.get(), below.c_str(), Leave::kClampedToShare, false));
  } else {
    fd = sys::UniqueFd(open_path(calls_, AT_FDCWD, std::string(point).c_str(), Leave::kFreely, false));
  }
  if (!fd.valid()) return -fd.get();
  struct statx stat{};
  const int err = calls_.statx(fd.get(), "", AT_EMPTY_PATH, STATX_TYPE | STATX_MNT_ID, stat);
  if (err < 0) return -err;
  // Another mount lies there, or what is mounted cannot be opened for reading safely.
  const bool usable = S_ISREG(stat.stx_mode) || S_ISDIR(stat.stx_mode);
  return stat.stx_mnt_id == mount.id && usable ? 0 : EIO;
}

}  // namespace vfsmend
