// SPDX-License-Identifier: Apache-2.0
#include "manifest/capture.h"

#include <fmt/core.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>
#include <unordered_map>

#include "sys/fd_path.h"
#include "sys/mount_table.h"
#include "sys/object_handle.h"
#include "sys/private_mounts.h"
#include "sys/read_file.h"

namespace vfsmend {
namespace {

constexpr unsigned kMostHelpers = 31;  // a cold disk is asked for so much at a time

bool is_below(std::string_view path, std::string_view dir) {
  if (dir == "/") return path.starts_with('/');
  return path.starts_with(dir) && (path.size() == dir.size() || path[dir.size()] == '/');
}

// `path` relative to `dir`, which it is below.
std::string_view relative_to(std::string_view path, std::string_view dir) {
  path.remove_prefix(dir == "/" ? 0 : dir.size());
  while (path.starts_with('/')) path.remove_prefix(1);
  return path;
}

int open_beneath(sys::Calls& calls, int dir, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
  return calls.openat2(dir, path.empty() ? "." : path.c_str(), how);
}

class Capture {
 public:
  explicit Capture(const CaptureInput& in) : in_(in), section_(out_.section) {}

  Result<Captured> run() {
    section_.device = in_.device;
    section_.share = in_.share;
    section_.whole_tree = in_.whole_tree || in_.state == nullptr;
    if (in_.progress) in_.progress(fmt::format("the share {}", in_.share));
    VFSMEND_TRY(open_share());
    VFSMEND_TRY_ASSIGN(const sys::MountTable mounts, sys::read_mount_table(in_.calls));
    note_mounts(mounts);
    if (in_.state != nullptr) note_state();
    Scope scope = make_scope();
    if (!section_.whole_tree) {
      for (const ManifestMount& mount : section_.mounts) scope.add_path(0, mount.place);
    }
    scope.finish();
    look(scope);
    return std::move(out_);
  }

 private:
  Result<void> open_share() {
    Result<sys::Located> share = sys::locate(in_.calls, AT_FDCWD, in_.share);
    if (!share) return tl::make_unexpected(std::move(share).error().context(in_.share));
    // A tree may be a single file. A guest's root is a directory: this is not its share.
    if (in_.state != nullptr && !S_ISDIR(share->mode)) {
      return fail(ErrorCode::kSystem, fmt::format("{}: is {}, not a directory", in_.share, sys::kind_of(share->mode)));
    }
    share_ = std::move(share->fd);
    section_.real_share = sys::path_of_fd(in_.calls, share_.get()).value_or(in_.share);
    struct statfs fs{};
    if (const int err = in_.calls.fstatfs(share_.get(), fs); err < 0) return fail_errno(-err, in_.share);
    section_.fs_magic = static_cast<std::uint64_t>(fs.f_type);
    std::memcpy(&section_.fs_id, &fs.f_fsid, sizeof section_.fs_id);
    return {};
  }

  // The mounts of the share that can be reached: one that lies under another is not of interest.
  void note_mounts(const sys::MountTable& table) {
    std::map<std::string, std::uint64_t> places = {{"", mount_id_at("")}};
    for (const auto& [id, mount] : table) {
      if (!is_below(mount.mount_point, section_.real_share)) continue;
      std::string place(relative_to(mount.mount_point, section_.real_share));
      const std::uint64_t top = mount_id_at(place);
      if (top != 0) places.emplace(std::move(place), top);
    }
    for (const auto& [place, id] : places) {
      const auto mount = table.find(id);
      if (mount == table.end()) continue;
      section_.mounts.push_back({id, place, mount->second.fs_type, mount->second.source,
                                 mount->second.options, mount->second.mount_read_only,
                                 mount->second.super_read_only});
      if (place.empty()) section_.facts.emplace_back("mount-point", mount->second.mount_point);
    }
  }

  std::uint64_t mount_id_at(const std::string& place) {
    const sys::UniqueFd fd(open_beneath(in_.calls, share_.get(), place));
    struct statx stat{};
    if (!fd.valid()) return 0;
    const int err = in_.calls.statx(fd.get(), "", AT_EMPTY_PATH, STATX_MNT_ID, stat);
    return err < 0 ? 0 : stat.stx_mnt_id;
  }

  void note_state() {
    const State& state = *in_.state;
    section_.facts.emplace_back("state-xxh3", state_digest(in_.state_bytes));
    section_.facts.emplace_back("state-bytes", std::to_string(in_.state_bytes.size()));
    section_.facts.emplace_back("inodes", std::to_string(state.inodes.size()));
    section_.facts.emplace_back("handles", std::to_string(state.handles.size()));
  }

  Scope make_scope() {
    if (in_.state == nullptr) return {};
    const NodeIndex index(*in_.state);
    find_by_handle(index);
    return {*in_.state, index, paths_};
  }

  // Inodes that the state locates by handle: where they are, as far as the kernel can say.
  void find_by_handle(const NodeIndex& index) {
    const bool needed = std::ranges::any_of(in_.state->inodes, [](const Inode& inode) {
      return location_as<HandleLocation>(inode) != nullptr;
    });
    if (!needed) return;
    const sys::KeepsWorkingDirectory here(in_.calls);
    std::vector<bool> open(index.slot_count());
    for (const Handle& handle : in_.state->handles) {
      const Slot slot = index.slot_of(handle.inode);
      if (slot != kNoIndex) open[slot] = true;
    }
    for (const auto& [id, path] : in_.state->mount_paths) {
      mount_dirs_[id] = sys::UniqueFd(open_beneath(in_.calls, share_.get(), std::string(path)));
    }
    for (EntryIndex e = 0; e < in_.state->inodes.size(); ++e) {
      const Inode& inode = in_.state->inodes[e];
      const auto* by_handle = location_as<HandleLocation>(inode);
      if (!by_handle || by_handle->handle.data.size() > kMaxHandleBytes) continue;
      const auto mount = mount_dirs_.find(by_handle->handle.mount_id);
      if (mount == mount_dirs_.end() || !mount->second.valid()) continue;
      const sys::UniqueFd fd(sys::open_by_object_handle(
          in_.calls, mount->second.get(), by_handle->handle.type, by_handle->handle.data));
      if (!fd.valid()) continue;
      const std::string path = sys::path_of_fd(in_.calls, fd.get()).value_or("");
      const bool placed = is_below(path, section_.real_share) && path != "/" && is_same(fd.get(), path);
      if (placed) paths_[inode.id] = relative_to(path, section_.real_share);
      else loose_.push_back({inode.id, open[index.slot_of_entry(e)], mount->second.get(),
                             &by_handle->handle});
    }
  }

  // A disconnected file shows a path that leads elsewhere, or nowhere.
  bool is_same(int fd, const std::string& path) {
    const sys::UniqueFd there(open_beneath(in_.calls, share_.get(), std::string(relative_to(path, section_.real_share))));
    struct statx a{};
    struct statx b{};
    return there.valid() && in_.calls.statx(fd, "", AT_EMPTY_PATH, kObjectMask, a) == 0 &&
           in_.calls.statx(there.get(), "", AT_EMPTY_PATH, kObjectMask, b) == 0 &&
           a.stx_ino == b.stx_ino && a.stx_dev_major == b.stx_dev_major &&
           a.stx_dev_minor == b.stx_dev_minor;
  }

  void look(const Scope& scope) {
    // Where that cannot be had, only the access times of symbolic links move.
    const Result<sys::UniqueFd> quiet = sys::clone_without_atime(share_.get());
    TreeLookInput input{in_.calls, quiet ? quiet->get() : share_.get(), scope, {}, {}};
    input.loose = loose_;
    input.whole_tree = section_.whole_tree;
    input.hash = in_.hash;
    input.hash_budget = in_.hash_budget;
    input.expect_memory = in_.expect_memory;
    input.second = in_.second;
    // Small scopes are done before a thread has started.
    const bool large = section_.whole_tree || scope.names().size() > 4 * kPieceSize;
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    if (large) input.helpers = std::min(kMostHelpers, cores - 1);
    if (large) input.most_helpers = kMostHelpers;
    if (in_.progress) {
      input.progress = [&, told = section_.real_share + "/"](std::string_view path) mutable {
        told.resize(section_.real_share.size() + 1);
        in_.progress(told.append(path));
      };
    }
    TreeLook seen = look_at_tree(input);
    section_.entries = std::move(seen.entries);
    section_.devices = std::move(seen.devices);
    section_.xattr_sets = std::move(seen.xattr_sets);
    out_.notes = std::move(seen.notes);
    out_.hashed_bytes = seen.hashed_bytes;
    out_.listing_cut = seen.listing_cut;
    if (in_.state == nullptr) return;
    const auto known = static_cast<std::uint64_t>(std::ranges::count_if(
        section_.entries.node, [](NodeId node) { return node != 0; }));
    out_.unlocated = in_.state->inodes.size() - std::min<std::uint64_t>(known, in_.state->inodes.size());
  }

  const CaptureInput& in_;
  Captured out_;
  ManifestSection& section_;
  sys::UniqueFd share_;
  std::unordered_map<std::uint64_t, sys::UniqueFd> mount_dirs_;
  std::unordered_map<NodeId, std::string> paths_;
  std::vector<LooseInode> loose_;
};

}  // namespace

Result<Captured> capture_share(const CaptureInput& input) { return Capture(input).run(); }

std::string state_digest(Bytes state) {
  const ContentHash hash = content_hash(state);
  return fmt::format("{:016x}{:016x}", hash[1], hash[0]);
}

std::string_view fact(const std::vector<std::pair<std::string, std::string>>& facts,
                      std::string_view key) {
  const auto at = std::ranges::find(facts, key, [](const auto& f) { return std::string_view(f.first); });
  return at == facts.end() ? std::string_view() : at->second;
}

}  // namespace vfsmend
