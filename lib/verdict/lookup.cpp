// SPDX-License-Identifier: Apache-2.0
#include "verdict/lookup.h"

#include <cerrno>
#include <optional>

#include "sys/fd_path.h"

namespace vfsmend {
namespace {

// A name below `parent` as one below the share: where the share is the loader's root, "/x" and ".."
// are resolved there, and the kernel takes one descriptor for where to begin and where to stop.
std::optional<std::string> from_share(sys::Calls& calls, const Share& share, int parent,
                                      const std::string& name) {
  if (name.substr(0, 1) == "/") return name;
  const auto path = sys::path_of_fd(calls, parent);
  if (!path || !is_below(*path, share.real_path)) return std::nullopt;
  const std::size_t prefix = share.real_path == "/" ? 0 : share.real_path.size();
  return "." + path->substr(prefix) + "/" + name;
}

// With the share as root. `clamped` is set where the name would lead out of it without that.
int look_up_in_share(sys::Calls& calls, const Share& share, int parent, const std::string& name,
                     bool& clamped) {
  const auto path = from_share(calls, share, parent, name);
  if (!path) return -ENOENT;
  const sys::UniqueFd free(open_path(calls, share.fd.get(), path->c_str(), Leave::kStayBelow, false));
  clamped = free.get() == -EXDEV;
  return open_path(calls, share.fd.get(), path->c_str(), Leave::kClampedToShare, false);
}

// Directories that the name led through, as far as the path of what was found tells: those below
// `parent`, or below the share where it led elsewhere. A daemon that obeys modes must search them.
bool may_walk(sys::Calls& calls, const Share& share, const Destination& destination, int parent,
              const std::string& real_path) {
  if (destination.capabilities.dac_override) return true;
  std::string from = sys::path_of_fd(calls, parent).value_or(share.real_path);
  const bool below_parent = is_below(real_path, from);
  if (!below_parent) from = share.real_path;
  if (!is_below(real_path, from)) return true;
  const int base = below_parent ? parent : share.fd.get();
  const std::size_t begin = from == "/" ? 1 : from.size() + 1;
  for (std::size_t at = real_path.find('/', begin); at != std::string::npos;
       at = real_path.find('/', at + 1)) {
    struct statx stat{};
    const std::string dir = real_path.substr(begin, at - begin);
    const sys::UniqueFd fd(open_path(calls, base, dir.c_str(), Leave::kNever, false));
    const bool stated = fd.valid() && calls.statx(fd.get(), "", AT_EMPTY_PATH,
                                                  STATX_BASIC_STATS | STATX_MNT_ID, stat) == 0;
    if (stated && !may_search(open_target(stat, share.mounts), destination)) return false;
  }
  return true;
}

}  // namespace

bool is_one_component(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

Found look_up(sys::Calls& calls, const Share& share, const Destination& destination, int parent,
              Zone parent_zone, const std::string& name) {
  Found found;
  found.zone = parent_zone;
  bool clamped = false;
  int fd = open_path(calls, parent, name.c_str(), Leave::kNever, false);
  const bool refused = fd == -EXDEV || fd == -ELOOP;
  if (refused) {
    fd = destination.share_is_root()
             ? look_up_in_share(calls, share, parent, name, clamped)
             : open_path(calls, parent, name.c_str(), Leave::kFreely, false);
  }
  if (fd < 0) {
    found.err = -fd;
    found.left_share = clamped;
    return found;
  }
  found.fd = sys::UniqueFd(fd);
  found.real_path = sys::path_of_fd(calls, fd).value_or("");
  if (!may_walk(calls, share, destination, parent, found.real_path)) {
    found.fd.reset();
    found.err = EACCES;
    return found;
  }
  if (!refused) return found;
  // Inside by a detour is inside: "../x" from a directory, a link that stays.
  found.zone = share.zone_of(found.real_path);
  found.left_share = clamped || found.zone == Zone::kOutside;
  return found;
}

}  // namespace vfsmend
