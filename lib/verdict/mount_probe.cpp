// SPDX-License-Identifier: Apache-2.0
#include "verdict/mount_probe.h"

#include <sys/stat.h>

#include <cerrno>

namespace vfsmend {
namespace {

// Bytes of the white space (Unicode's White_Space, as Rust has it) that `s` begins with, or 0.
std::size_t white_space(std::string_view s) {
  if (s[0] == ' ' || (s[0] >= '\t' && s[0] <= '\r')) return 1;
  if (s.starts_with("\xc2\x85") || s.starts_with("\xc2\xa0")) return 2;
  if (s.starts_with("\xe2\x80") && s.size() > 2) {
    const auto last = static_cast<unsigned char>(s[2]);
    const bool space = last <= 0x8a || last == 0xa8 || last == 0xa9 || last == 0xaf;
    return space ? 3 : 0;
  }
  for (const std::string_view other : {"\xe1\x9a\x80", "\xe2\x81\x9f", "\xe3\x80\x80"}) {
    if (s.starts_with(other)) return 3;
  }
  return 0;
}

// The second column, for a program that ends one at each white space.
std::string second_column(std::string_view line) {
  std::string out;
  int column = 0;
  while (!line.empty() && column < 2) {
    const std::size_t space = white_space(line);
    if (space > 0) {
      ++column;
    } else if (column == 1) {
      out += line[0];
    }
    line.remove_prefix(space > 0 ? space : 1);
  }
  return out;
}

// What follows `dir` in a path below it: empty, or with its slash.
std::string_view below(std::string_view path, std::string_view dir) {
  return dir == "/" ? path : path.substr(dir.size());
}

}  // namespace

int MountProbe::problem(std::uint64_t id) {
  if (share_.inode_file_handles == InodeFileHandles::kNever) return 0;
  const auto mount = share_.mounts.find(id);
  if (mount == share_.mounts.end()) return 0;
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = known_.try_emplace(id, 0);
  if (is_new) known->second = look(mount->second);
  return known->second;
}

std::optional<std::string> MountProbe::place(const sys::Mount& mount) const {
  if (to_.sandbox == Sandbox::kNamespace) {
    // The table begins at the share, which is mounted anew.
    const std::string share = sys::listed(share_.real_path);
    if (mount.id == share_.stat.stx_mnt_id) {
      if (!is_below(share, mount.listed_point)) return std::nullopt;
      const std::string path(below(share, mount.listed_point));
      return second_column(mount.listed_root + path + " /");
    }
    if (!is_below(mount.listed_point, share)) return std::nullopt;
    return second_column(mount.listed_root + ' ' + std::string(below(mount.listed_point, share)));
  }
  std::string point = second_column(mount.listed_root + ' ' + mount.listed_point);
  if (to_.sandbox == Sandbox::kNone) return point;
  // The table is that of before the chroot. The daemon takes away the share's path as it is, not as
  // it is listed; where it does not find that, the mount has to be the one its root is on.
  const bool found = point.starts_with(share_.real_path) && point.size() > share_.real_path.size();
  return found ? point.substr(share_.real_path.size()) : "/";
}

int MountProbe::look(const sys::Mount& mount) {
  const auto point = place(mount);
  if (!point) return 0;
  sys::UniqueFd fd;
  if (to_.share_is_root()) {
    fd = sys::UniqueFd(
        open_path(calls_, share_.fd.get(), point->c_str(), Leave::kClampedToShare, false));
  } else {
    // A part of a name is looked for in the daemon's working directory, and taken not to be there.
    if (!point->starts_with('/')) return ENOENT;
    fd = sys::UniqueFd(open_path(calls_, AT_FDCWD, point->c_str(), Leave::kFreely, false));
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
