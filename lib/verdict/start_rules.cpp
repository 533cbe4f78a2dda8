// SPDX-License-Identifier: Apache-2.0
#include "verdict/start_rules.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "sys/object_handle.h"
#include "verdict/mount_probe.h"
#include "verdict/restore_model.h"

namespace vfsmend {
namespace {

std::optional<StartFailure> share_fails(const Destination& to, const Share& share) {
  if (!share.fd.valid()) {
    StartFailure out{failed(os_error(share.err), to), std::nullopt, "", ""};
    if (to.is_cube()) {
      out.restore.wrapped = fmt::format("Failed activating the device: ActivateVirtioFs({})",
                                        os_error(share.err).debug);
    }
    return out;
  }
  // A sandbox makes the share a root, which only a directory can be; without one a file loads.
  if (to.share_is_root() && !S_ISDIR(share.stat.stx_mode)) {
    return StartFailure{failed(os_error(ENOTDIR), to), std::nullopt, "", ""};
  }
  return std::nullopt;
}

std::optional<StartFailure> bind_fails(const Destination& to, const Share& share) {
  const auto dir = std::ranges::find_if(share.allowed, [](const AllowedDir& d) { return d.err != 0; });
  if (!to.is_cube() || dir == share.allowed.end()) return std::nullopt;
  const std::string why = fmt::format("Failed to openat file {}: {}", rust_debug(dir->given),
                                      os_error(dir->err).debug);
  StartFailure out;
  out.restore.outcome = Outcome::kFails;
  out.restore.error = "failed to init filter list: " + why;
  out.restore.wrapped = fmt::format("InvalidServerConfig(InvalidFilter({}))", why);
  return out;
}

StartFailure refuses_switches(const Destination& to, Code code, std::string text,
                              std::string action) {
  StartFailure out{failed(custom_error("Other", std::move(text)), to), code, "", std::move(action)};
  out.message = "the daemon does not start: " + *out.restore.error;
  return out;
}

// To find the mount of a handle the daemon reads all of /proc/self/mountinfo as one text. In a
// namespace of its own only the mounts below its root stand there; for chroot it opens the file
// before. A mount point with a name that is no UTF-8, anywhere in it, keeps it from starting.
const sys::Mount* unreadable_mount(const Destination& to, const Share& share) {
  for (const auto& [id, mount] : share.mounts) {
    if (mount.utf8) continue;
    const bool all = to.sandbox != Sandbox::kNamespace;
    if (all || is_below(mount.mount_point, share.real_path)) return &mount;
  }
  return nullptr;
}

std::optional<StartFailure> switches_fail(sys::Calls& calls, const Destination& to,
                                          const Share& share) {
  if (to.is_cube()) return std::nullopt;
  const std::uint64_t least = kReservedDescriptors + std::max<std::uint64_t>(to.thread_pool_size, 1);
  const std::uint64_t limit = to.rlimit_nofile.value_or(0);
  if (to.version >= Version{1, 13, 2} && limit != 0 && limit < least) {
    return refuses_switches(
        to, Code::kE002,
        fmt::format("Maximum number of file descriptors too small: Limit is {}, must be at least "
                    "{}", limit, least),
        "raise --rlimit-nofile");
  }
  if (to.inode_file_handles == InodeFileHandles::kNever) return std::nullopt;
  const bool mandatory = to.inode_file_handles == InodeFileHandles::kMandatory;
  if (to.capabilities.dac_read_search_dropped) {
    return refuses_switches(
        to, Code::kE002,
        fmt::format("can't disable DAC_READ_SEARCH when using --inode-file-handles={}",
                    mandatory ? "Mandatory" : "Prefer"),
        "leave the capability to it, or start with --inode-file-handles=never");
  }
  sys::ObjectHandle handle;
  const int err = sys::object_handle(calls, share.fd.get(), "", AT_EMPTY_PATH, handle);
  if (const sys::Mount* mount = err == 0 ? unreadable_mount(to, share) : nullptr) {
    return refuses_switches(to, Code::kE002,
                            "Failed to create internal filesystem representation: stream did not "
                            "contain valid UTF-8",
                            fmt::format("unmount {}, whose name is not UTF-8, or start with "
                                        "--inode-file-handles=never", printable(mount->mount_point)));
  }
  MountProbe mounts(calls, to, share);
  if (const int no_mount = err == 0 ? mounts.problem(share.stat.stx_mnt_id) : 0; no_mount != 0) {
    return refuses_switches(to, Code::kE002,
                            "Failed to create internal filesystem representation: " +
                                os_error_text(no_mount),
                            "mount the share under a path without white space and backslashes, "
                            "with nothing else mounted on it, or start with "
                            "--inode-file-handles=never");
  }
  if (!mandatory || err != -EOPNOTSUPP) return std::nullopt;
  return refuses_switches(to, Code::kO001,
                          "Failed to create internal filesystem representation: " +
                              os_error_text(EOPNOTSUPP),
                          "start with --inode-file-handles=prefer: this file system has none");
}

}  // namespace

std::optional<StartFailure> cannot_start(sys::Calls& calls, const Destination& destination,
                                         const Share& share) {
  if (auto failure = share_fails(destination, share)) return failure;
  if (auto failure = bind_fails(destination, share)) return failure;
  return switches_fail(calls, destination, share);
}

}  // namespace vfsmend
