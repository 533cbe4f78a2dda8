// SPDX-License-Identifier: Apache-2.0
#include "manifest/nodemap_collect.h"

#include <fmt/format.h>
#include <linux/openat2.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "manifest/nodemap_proc.h"
#include "manifest/object.h"
#include "sys/fd_path.h"
#include "sys/listing.h"
#include "sys/mount_table.h"
#include "sys/object_handle.h"
#include "sys/unique_fd.h"

namespace vfsmend {
namespace {

// What fs/fuse makes of a node: FILEID_INO64_GEN, u32 node id high, low, u32 generation.
constexpr std::int32_t kFuseHandle = 0x81;
constexpr std::uint32_t kFuseHandleBytes = 12;
constexpr std::size_t kMostWarnings = 1000;

// The process, the descriptor or the mapping is not there any more.
bool has_ended(int err) {
  return err == -ENOENT || err == -ESRCH;
}

class Collector {
 public:
  Collector(sys::Calls& calls, sys::MountTable mounts, const sys::Mount& target)
      : calls_(calls), mounts_(std::move(mounts)), target_(target) {
    devices_.insert(target_.device);
    for (const auto& [id, mount] : mounts_) {
      if (is_submount(mount)) devices_.insert(mount.device);
    }
  }

  Result<NodeMap> run() {
    map_.tool = "vfsmend " VFSMEND_VERSION;
    map_.time = utc_text(file_clock());
    map_.mount_point = target_.mount_point;
    map_.fs_type = target_.fs_type;
    map_.source = target_.source;
    VFSMEND_TRY_ASSIGN(const std::vector<std::string> names, listed_in("/proc"));
    for (const std::string& name : names) {
      if (const auto pid = number_of(name, 10)) look_at_process(static_cast<std::int32_t>(*pid));
    }
    const auto key = [](const NodeMapEntry& e) {
      return std::tie(e.node, e.pid, e.kind, e.fd, e.path);
    };
    std::ranges::sort(map_.entries, {}, key);
    map_.entries.erase(std::unique(map_.entries.begin(), map_.entries.end()), map_.entries.end());
    return std::move(map_);
  }

 private:
  // A mount of the host below the share, which the kernel mounted by itself where the guest came
  // by: a file system of its own, whose node ids are of the same server.
  [[nodiscard]] bool is_submount(const sys::Mount& mount) const {
    const auto below = path_after(mount.mount_point, target_.mount_point);
    return mount.fs_type == target_.fs_type && mount.source == "none" &&
           mount.device != target_.device && below && !below->empty();
  }

  void warn(std::string text) {
    if (map_.warnings.size() < kMostWarnings) map_.warnings.push_back(std::move(text));
  }

  Result<std::vector<std::string>> listed_in(const std::string& directory) {
    open_how how{};
    how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    const sys::UniqueFd fd(calls_.openat2(AT_FDCWD, directory.c_str(), how));
    if (!fd.valid()) return fail_errno(-fd.get(), directory);
    std::vector<std::string> names;
    std::array<std::uint8_t, 32768> buffer;
    const int err =
        sys::for_each_name(calls_, fd.get(), buffer, [&](const char* name, std::uint64_t) {
          names.emplace_back(name);
          return true;
        });
    if (err < 0) return fail_errno(-err, directory);
    return names;
  }

  void look_at_process(std::int32_t pid) {
    pid_ = pid;
    forbidden_ = false;
    const std::string base = fmt::format("/proc/{}", pid);
    const auto fds = listed_in(base + "/fd");
    if (!fds) return unreadable(base + "/fd", -fds.error().sys_errno);
    look(base + "/cwd", HolderKind::kCwd, {});
    look(base + "/root", HolderKind::kRoot, {});
    look(base + "/exe", HolderKind::kExe, {});
    for (const std::string& name : *fds) {
      const auto fd = number_of(name, 10);
      if (fd && !forbidden_) look_at_fd(base, static_cast<std::int32_t>(*fd));
    }
    if (forbidden_) return;
    const auto maps = sys::read_proc_file(calls_, (base + "/maps").c_str());
    if (!maps) return unreadable(base + "/maps", -maps.error().sys_errno);
    for (const std::string& range : file_mappings(*maps, devices_)) {
      look(fmt::format("{}/map_files/{}", base, range), HolderKind::kMap, {});
    }
  }

  // Who may not look at one thing of a process may look at none: that is told once.
  void unreadable(const std::string& link, int err) {
    if (has_ended(err) || forbidden_) return;
    forbidden_ = err == -EACCES || err == -EPERM;
    warn(fmt::format("{}: {}: {} not in the map", link, errno_text(-err),
                     forbidden_ ? "what this process holds is" : "it is"));
  }

  // fdinfo tells the mount without a look at the file, which may lie on a file system that hangs.
  void look_at_fd(const std::string& base, std::int32_t fd) {
    const std::string file = fmt::format("{}/fdinfo/{}", base, fd);
    const auto info = sys::read_proc_file(calls_, file.c_str());
    if (!info) return unreadable(file, -info.error().sys_errno);
    const DescriptorInfo told = descriptor_info(*info);
    const sys::Mount* const mount = mount_of(told.mount_id);
    if (mount != nullptr && !devices_.contains(mount->device)) return;
    look(fmt::format("{}/fd/{}", base, fd), HolderKind::kFd, {fd, told.flags});
  }

  struct Descriptor {
    std::int32_t fd = -1;
    std::int32_t flags = -1;
  };

  void look(const std::string& link, HolderKind kind, Descriptor descriptor) {
    std::array<char, 2> first{};  // pipes and sockets have no path, and cannot be taken by O_PATH
    const ssize_t length = calls_.readlinkat(AT_FDCWD, link.c_str(), first);
    if (length < 0) return unreadable(link, static_cast<int>(length));
    if (length == 0 || first[0] != '/') return;
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    const sys::UniqueFd object(calls_.openat2(AT_FDCWD, link.c_str(), how));
    if (!object.valid()) return unreadable(link, object.get());
    struct statx stat {};
    constexpr int kCached = AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
    if (const int err = calls_.statx(object.get(), "", kCached, STATX_INO | STATX_NLINK, stat);
        err < 0) {
      return unreadable(link, err);
    }
    if (!devices_.contains(fmt::format("{}:{}", stat.stx_dev_major, stat.stx_dev_minor))) return;
    NodeMapEntry entry;
    entry.ino = stat.stx_ino;
    entry.nlink = static_cast<std::int32_t>(stat.stx_nlink);
    entry.kind = kind;
    entry.pid = pid_;
    entry.fd = descriptor.fd;
    entry.flags = descriptor.flags;
    add(link, object.get(), std::move(entry));
  }

  // Of an object that is on the mount: its node and its path.
  void add(const std::string& link, int object, NodeMapEntry entry) {
    sys::ObjectHandle handle;
    if (const int err = sys::object_handle(calls_, object, "", AT_EMPTY_PATH, handle); err < 0) {
      return warn(fmt::format("{}: its node id: {}: not in the map", link, errno_text(-err)));
    }
    if (handle.type != kFuseHandle || handle.size != kFuseHandleBytes) {
      return warn(
          fmt::format("{}: a handle of type {:#x} and {} bytes is none of FUSE: not in the map",
                      link, handle.type, handle.size));
    }
    std::array<std::uint32_t, 2> halves{};
    std::memcpy(halves.data(), handle.data.data(), sizeof halves);
    entry.node = (std::uint64_t{halves[0]} << 32) | halves[1];
    const auto text = sys::path_of_fd(calls_, object);
    const sys::Mount* const mount = mount_of(handle.mount_id);
    const auto path = text && mount ? placed(*text, *mount, entry.deleted) : std::nullopt;
    if (!path) {
      return warn(
          fmt::format("{}: node {} has no path below the mount: not in the map", link, entry.node));
    }
    entry.path = *path;
    map_.entries.push_back(std::move(entry));
  }

  [[nodiscard]] std::optional<std::string> placed(std::string_view text, const sys::Mount& mount,
                                                  bool& deleted) const {
    constexpr std::string_view kDeleted = " (deleted)";
    deleted = text.ends_with(kDeleted);
    if (deleted) text.remove_suffix(kDeleted.size());
    const sys::Mount& from = mount.device == target_.device ? mount : target_;
    const auto rest = path_after(text, from.mount_point);
    if (!rest) return std::nullopt;
    std::string path = from.root == "/" ? "" : from.root.substr(1);
    if (!path.empty() && !rest->empty()) path += '/';
    return path += *rest;
  }

  // Of our own mount namespace, or that of the process: ids are the whole machine's.
  const sys::Mount* mount_of(std::int64_t id) {
    const auto in = [id](const sys::MountTable& table) {
      const auto at = table.find(static_cast<std::uint64_t>(id));
      return at == table.end() ? nullptr : &at->second;
    };
    if (id < 0) return nullptr;
    if (const sys::Mount* const own = in(mounts_)) return own;
    std::array<char, 64> name{};
    const ssize_t length =
        calls_.readlinkat(AT_FDCWD, fmt::format("/proc/{}/ns/mnt", pid_).c_str(), name);
    if (length <= 0) return nullptr;
    const auto [at, is_new] =
        others_.try_emplace(std::string(name.data(), static_cast<std::size_t>(length)));
    if (is_new) {
      const auto text =
          sys::read_proc_file(calls_, fmt::format("/proc/{}/mountinfo", pid_).c_str());
      if (text) at->second = sys::parse_mount_table(*text);
    }
    return in(at->second);
  }

  sys::Calls& calls_;
  sys::MountTable mounts_;
  sys::Mount target_;
  std::set<std::string> devices_;                  // of the mount and the submounts: "0:42"
  std::map<std::string, sys::MountTable> others_;  // by mount namespace
  std::int32_t pid_ = 0;
  bool forbidden_ = false;  // to look at that process
  NodeMap map_;
};

bool is_fuse(const sys::Mount& mount) {
  const std::string& type = mount.fs_type;
  return type == "virtiofs" || type == "fuse" || type == "fuseblk" || type.starts_with("fuse.") ||
         type.starts_with("fuseblk.");
}

tl::unexpected<Error> no_such_mount(const std::string& what, const sys::MountTable& mounts) {
  std::vector<std::string> known;
  for (const auto& [id, mount] : mounts) {
    if (is_fuse(mount)) {
      known.push_back(fmt::format("{} ({})", printable(mount.mount_point), mount.fs_type));
    }
  }
  std::ranges::sort(known);
  return fail(ErrorCode::kUsage,
              fmt::format("{}; FUSE mounts here: {}", what,
                          known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

}  // namespace

Result<NodeMap> collect_node_map(sys::Calls& calls, const std::string& mount_point) {
  std::string wanted = mount_point;
  while (wanted.size() > 1 && wanted.back() == '/') wanted.pop_back();
  VFSMEND_TRY_ASSIGN(sys::MountTable mounts, sys::read_mount_table(calls));
  std::vector<sys::Mount> found;
  for (const auto& [id, mount] : mounts) {
    if (mount.mount_point == wanted) found.push_back(mount);
  }
  const std::string name = printable(wanted);
  if (found.empty()) {
    return no_such_mount(name + " is no mount point (give its whole path)", mounts);
  }
  if (found.size() > 1) {
    // One over the other: what is seen is the last. A look at a mount point asks no server.
    struct statx stat {};
    const int err = calls.statx(AT_FDCWD, wanted.c_str(), AT_STATX_DONT_SYNC, STATX_MNT_ID, stat);
    if (err < 0) return fail_errno(-err, name);
    std::erase_if(found, [&](const sys::Mount& mount) { return mount.id != stat.stx_mnt_id; });
    if (found.empty()) {
      return no_such_mount(name + " has mounts over one another, and none is seen", mounts);
    }
  }
  if (!is_fuse(found[0])) {
    return no_such_mount(
        fmt::format("{} is {}: only FUSE file systems have node ids", name, found[0].fs_type),
        mounts);
  }
  return Collector(calls, std::move(mounts), found[0]).run();
}

}  // namespace vfsmend
