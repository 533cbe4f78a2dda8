// SPDX-License-Identifier: Apache-2.0
#include "verdict/destination_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace vfsmend {
namespace {

std::string ids_of(const Snapshot& snapshot) {
  std::string out;
  for (const SnapshotDevice& device : snapshot.devices) {
    out += fmt::format("{}{}", out.empty() ? "" : ", ", device.id);
  }
  return out.empty() ? "none" : out;
}

bool was_given(const CheckRequest& request, std::string_view name) {
  return std::ranges::find(request.given, name) != request.given.end();
}

// config.json and the annotation give what the user did not.
void take_cube_config(const CheckRequest& request, const CubeBackend& config, Destination& to) {
  const auto take = [&](const char* name, auto& field, auto value) {
    if (!was_given(request, name)) field = std::move(value);
  };
  static constexpr std::array<const char*, 4> kCaches = {"auto", "always", "never", "none"};
  take("writeback", to.writeback, config.writeback);
  take("announce-submounts", to.announce_submounts, config.announce_submounts);
  take("posix-acl", to.posix_acl, config.posix_acl);
  take("allow-direct-io", to.allow_direct_io, config.allow_direct_io);
  take("readonly", to.readonly, config.read_only);
  take("remap-filter", to.remap_filter, config.remap_filter);
  take("thread-pool-size", to.thread_pool_size, config.thread_pool_size);
  if (config.cache >= 0 && config.cache < 4) {
    take("cache", to.cache, std::string(kCaches[static_cast<std::size_t>(config.cache)]));
  }
  if (to.allowed_dirs.empty() && config.allowed_dirs) to.allowed_dirs = *config.allowed_dirs;
}

// A program's own defaults, where neither the user nor the container spoke.
void take_defaults(const CheckRequest& request, Destination& to) {
  if (to.is_cube()) {
    if (!was_given(request, "announce-submounts")) to.announce_submounts = false;
    to.sandbox = Sandbox::kNone;  // the loader lives in the VMM
    to.inode_file_handles = InodeFileHandles::kNever;
    return;
  }
  if (!was_given(request, "inode-file-handles") && to.version >= Version{1, 13, 3}) {
    to.inode_file_handles = InodeFileHandles::kPrefer;
  }
  if (to.uid != 0) to.capabilities = {false, false, false, false};
  if (to.inode_file_handles != InodeFileHandles::kNever) to.capabilities.dac_read_search = true;
}

// Of the Cube profiles the strictest: report.h's `elsewhere` has the others.
Profile profile_of(const CheckRequest& request, ContainerKind kind,
                   std::optional<Dialect> dialect) {
  if (request.profile) return *request.profile;
  const bool cube = dialect ? *dialect == Dialect::kCubeV1 : kind == ContainerKind::kCube;
  return cube ? Profile::kCubeAbort : Profile::kVirtiofsd;
}

}  // namespace

Result<std::vector<std::string>> shares_of(const CheckRequest& request, const Snapshot& snapshot) {
  std::vector<std::string> shares;
  for (const SnapshotDevice& device : snapshot.devices) {
    shares.push_back(device.cube ? device.cube->shared_dir : "");
  }
  std::vector<bool> named(shares.size());
  for (const CheckRequest::Share& share : request.shares) {
    if (share.device.empty() && shares.size() != 1) {
      return fail(ErrorCode::kUsage,
                  fmt::format("--shared-dir is for a snapshot of one device; this one has {}: say "
                              "--share ID=DIR for each", ids_of(snapshot)));
    }
    const auto at = std::ranges::find_if(snapshot.devices, [&](const SnapshotDevice& device) {
      return share.device.empty() || device.id == share.device || device.tag == share.device;
    });
    if (at == snapshot.devices.end()) {
      return fail(ErrorCode::kUsage, fmt::format("--share {}: no such device; the snapshot has {}",
                                                 share.device, ids_of(snapshot)));
    }
    const auto index = static_cast<std::size_t>(at - snapshot.devices.begin());
    shares[index] = share.dir;
    named[index] = true;
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const SnapshotDevice& device = snapshot.devices[i];
    if (device.cube || named[i] || !device.state) continue;
    return fail(ErrorCode::kUsage,
                fmt::format("the snapshot does not record which directory device {} shares: give "
                            "--share {}=DIR{}", device.id, device.id,
                            shares.size() == 1 ? " or --shared-dir DIR" : ""));
  }
  return shares;
}

Result<Destination> destination_of(const CheckRequest& request, ContainerKind kind,
                                   const SnapshotDevice& device, std::optional<Dialect> dialect,
                                   const std::string& share) {
  Destination to = request.switches;
  to.profile = profile_of(request, kind, dialect);
  const auto fixed = fixed_on_error(to.profile);
  if (fixed && request.on_error && *fixed != *request.on_error) {
    return fail(ErrorCode::kUsage, fmt::format("--on-error {}: the profile {} always has {}",
                                               name_of(*request.on_error), name_of(to.profile),
                                               name_of(*fixed)));
  }
  to.on_error = fixed.value_or(request.on_error.value_or(OnError::kAbort));
  to.reader = to.is_cube()                      ? Reader::kCube
              : to.version < Version{1, 12, 0} ? Reader::kVirtiofsd11
                                               : Reader::kVirtiofsd;
  if (dialect && (*dialect == Dialect::kCubeV1) != to.is_cube()) {
    return fail(ErrorCode::kUsage, fmt::format("--dialect {}: the profile {} does not read it",
                                               name_of(*dialect), name_of(to.profile)));
  }
  to.shared_dir = share;
  take_defaults(request, to);
  if (device.cube) take_cube_config(request, *device.cube, to);
  return to;
}

}  // namespace vfsmend
