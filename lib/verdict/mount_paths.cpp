// SPDX-License-Identifier: Apache-2.0
#include "verdict/mount_paths.h"

#include <map>
#include <string>

#include "verdict/share.h"

namespace vfsmend {
namespace {

std::string_view last_component(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

// A directory on the mount of `fd`, to open handles from. The loader takes any file for that; we
// need a directory (sys::open_by_object_handle), and a mounted file has none of its own.
sys::UniqueFd directory_on_mount(const WalkInput& in, sys::UniqueFd fd, const struct statx& stat) {
  if (S_ISDIR(stat.stx_mode)) return fd;
  if (stat.stx_mnt_id == in.share.stat.stx_mnt_id) {
    return sys::UniqueFd(open_path(in.calls, in.share.fd.get(), ".", Leave::kNever, false));
  }
  const auto mount = in.share.mounts.find(stat.stx_mnt_id);
  if (mount == in.share.mounts.end()) return fd;
  return sys::UniqueFd(open_path(in.calls, AT_FDCWD, mount->second.mount_point.c_str(),
                                 Leave::kFreely, false));
}

// Without CAP_DAC_OVERRIDE each directory on the way has to be searchable, the share included, and
// what is there readable. A way with links or ".." in it is taken to be open.
bool may_open(const WalkInput& in, const std::string& path, const struct statx& target) {
  if (in.destination.capabilities.dac_override) return true;
  if (!may_read(open_target(target, in.share.mounts), in.destination)) return false;
  for (std::size_t end = 0; end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string directory = end == 0 ? "." : path.substr(0, end);
    const sys::UniqueFd fd(
        open_path(in.calls, in.share.fd.get(), directory.c_str(), Leave::kNever, false));
    struct statx stat{};
    if (!fd.valid() ||
        in.calls.statx(fd.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, stat) < 0) {
      return true;
    }
    if (!may_search(open_target(stat, in.share.mounts), in.destination)) return false;
  }
  return true;
}

void open_mount_path(const WalkInput& in, std::uint64_t id, const std::string& path,
                     MountPaths& out) {
  const Leave leave =
      in.destination.share_is_root() ? Leave::kClampedToShare : Leave::kFreely;
  const bool has_nul = path.find('\0') != std::string::npos;
  sys::UniqueFd fd(has_nul ? -EINVAL
                           : open_path(in.calls, in.share.fd.get(), path.c_str(), leave, true));
  struct statx stat{};
  const bool stated =
      fd.valid() && in.calls.statx(fd.get(), "", AT_EMPTY_PATH,
                                   STATX_BASIC_STATS | STATX_MNT_ID, stat) == 0;
  // A socket cannot be opened: ENXIO.
  if (!stated || S_ISSOCK(stat.stx_mode) || !may_open(in, path, stat)) {
    out.dead.push_back(id);
    return;
  }
  if (S_ISFIFO(stat.stx_mode)) out.hangs = true;
  out.by_id.insert_or_assign(id, directory_on_mount(in, std::move(fd), stat));
}

}  // namespace

MountPaths open_mount_paths(const WalkInput& in) {
  MountPaths out;
  const bool opens = !in.state.mount_paths.empty() && !in.state.inodes.empty() &&
                     in.order.error != GraphError::kNoRoot &&
                     in.order.error != GraphError::kRootNotRoot;
  if (!opens) return out;
  std::map<std::uint64_t, std::string> last_wins;
  for (const auto& [id, path] : in.state.mount_paths) last_wins[id] = path;
  for (const auto& [id, path] : last_wins) open_mount_path(in, id, path, out);
  return out;
}

std::string_view effective_name(const Path& path, const Destination& destination) {
  if (path.fullname.substr(0, 1) != "/") return path.filename;
  if (destination.profile == Profile::kCubeRemap && destination.remap_filter) {
    for (const std::string& dir : destination.allowed_dirs) {
      if (last_component(dir) == last_component(path.fullname)) return dir;
    }
  }
  return path.fullname;
}

}  // namespace vfsmend
