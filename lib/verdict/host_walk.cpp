// SPDX-License-Identifier: Apache-2.0
#include "verdict/host_walk.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <mutex>

#include "sys/fd_path.h"
#include "sys/object_handle.h"
#include "verdict/lookup.h"
#include "verdict/mount_paths.h"
#include "verdict/mount_probe.h"
#include "verdict/walk_pool.h"
#include "verdict/walk_tree.h"

namespace vfsmend {
namespace {

constexpr unsigned kStatMask = kObjectMask;
constexpr int kStatFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;

using SharedPlace = std::shared_ptr<const Place>;

// Two threads may be at work, never on the same entry: what they share beyond that is guarded.
class Walk {
 public:
  explicit Walk(const WalkInput& in)
      : in_(in),
        tree_(in.state, in.index, in.order),
        mounts_(in.calls, in.destination, in.share),
        pool_(in.state.inodes.size(), [this](const Batch& batch) { visit(batch); }) {
    out_.nodes.resize(in.state.inodes.size());
    out_.handles.resize(in.state.handles.size());
    if (in.record != nullptr) out_.changes.resize(in.state.inodes.size());
  }

  HostWalk run() {
    MountPaths mounts = open_mount_paths(in_);
    out_.dead_mount_paths = mounts.dead;
    out_.mount_path_hangs = mounts.hangs;
    if (mounts.hangs) {
      look_at_root(in_.order.taken.front());  // the only inode that comes before the mount paths
    } else {
      for (const EntryIndex start : tree_.starts()) {
        descend(start, look_at_start(start, mounts));
      }
      pool_.finish();
      mark_stubs();
    }
    look_at_handles();
    return std::move(out_);
  }

 private:
  struct Frame {
    EntryIndex entry;
    SharedPlace place;
    std::size_t next = 0;  // of the children that have children
  };

  void visit(const Batch& batch) {
    for (const EntryIndex child : batch.children) descend(child, look_at(child, *batch.place));
  }

  // All that is below `entry`, which lies at `place`.
  void descend(EntryIndex entry, Place place) {
    std::vector<Frame> stack;
    enter(stack, entry, std::move(place));
    while (!stack.empty()) {
      Frame& top = stack.back();
      const auto branches = tree_.branches(top.entry).subspan(top.next);
      if (branches.empty()) {
        stack.pop_back();
        continue;
      }
      if (const std::size_t given = hand_over(top.place, branches)) {
        top.next += given;
        continue;
      }
      const EntryIndex child = branches.front();
      Place below = look_at(child, *top.place);
      ++top.next;
      if (branches.size() == 1) stack.pop_back();  // the largest subtree comes last
      enter(stack, child, std::move(below));
    }
  }

  void enter(std::vector<Frame>& stack, EntryIndex entry, Place place) {
    if (!place.fd.valid() || out_.nodes[entry].fate != Fate::kFound) return;
    const auto shared = std::make_shared<const Place>(std::move(place));
    auto leaves = tree_.leaves(entry);
    while (leaves.size() >= 2 * WalkPool::kBatch &&
           pool_.offer({shared, leaves.first(WalkPool::kBatch)})) {
      leaves = leaves.subspan(WalkPool::kBatch);
    }
    for (const EntryIndex leaf : leaves) look_at(leaf, *shared);
    if (!tree_.branches(entry).empty()) stack.push_back({entry, shared, 0});
  }

  // Gives the first of these subtrees away, as many as make a batch. How many: 0 if none.
  std::size_t hand_over(const SharedPlace& place, std::span<const EntryIndex> branches) {
    if (!pool_.has_helper()) return 0;
    std::size_t size = 0;
    std::size_t count = 0;
    while (size < WalkPool::kBatch && count + 1 < branches.size()) {
      size += tree_.size(branches[count++]);
    }
    if (size < WalkPool::kBatch) return 0;
    return pool_.offer({place, branches.first(count)}) ? count : 0;
  }

  // Entries without a parent: the root, lost ones, and those located by handle.
  Place look_at_start(EntryIndex entry, const MountPaths& mounts) {
    const Inode& inode = in_.state.inodes[entry];
    if (location_as<RootNode>(inode)) return look_at_root(entry);
    if (const auto* by_handle = location_as<HandleLocation>(inode)) {
      return look_at_handle(entry, by_handle->handle, mounts);
    }
    if (location_as<Invalid>(inode)) out_.nodes[entry].fate = Fate::kLost;
    return {};
  }

  Place look_at_root(EntryIndex entry) {
    if (in_.state.inodes[entry].id != kRootId) return {};  // refused by the graph
    Place place;
    place.fd = sys::UniqueFd(open_path(in_.calls, in_.share.fd.get(), ".", Leave::kNever, false));
    if (place.fd.get() == -ENOTDIR) {  // a share that is a file
      place.fd = sys::UniqueFd(
          open_path(in_.calls, AT_FDCWD, in_.share.real_path.c_str(), Leave::kFreely, false));
    }
    found(entry, in_.share.stat, place);
    keep_text(entry, in_.share.real_path);
    compare(entry, place.fd.get(), "", AT_EMPTY_PATH, in_.share.stat);
    return place;
  }

  // `file_handle` is looked at for Path and the root only, as the loader does.
  Place look_at(EntryIndex entry, const Place& parent) {
    const Inode& inode = in_.state.inodes[entry];
    const auto* path = location_as<Path>(inode);
    const std::string name(path ? effective_name(*path, in_.destination)
                                : std::get<FullPath>(inode.location).filename);
    Node& node = out_.nodes[entry];
    node.zone = parent.zone;
    node.remapped = parent.remapped ||
                    (path && path->fullname.starts_with('/') && name != path->fullname);
    if (const std::size_t nul = name.find('\0'); nul != std::string::npos) {
      node.fate = Fate::kNulInName;
      node.position = static_cast<std::uint32_t>(nul);
      return {};
    }
    // The kernel takes in the name before it looks at a directory, and begins "/.." elsewhere.
    if (name.empty()) return miss(entry, ENOENT);
    if (name.size() >= PATH_MAX) return miss(entry, ENAMETOOLONG);
    if (!parent.searchable && name.front() != '/') return miss(entry, EACCES);
    return is_one_component(name) ? look_at_component(entry, parent, name)
                                  : look_at_path(entry, parent, name);
  }

  Place look_at_component(EntryIndex entry, const Place& parent, const std::string& name) {
    Place place;
    struct statx stat{};
    int err = 0;
    if (tree_.has_children(entry)) {
      place.fd = sys::UniqueFd(
          open_path(in_.calls, parent.fd.get(), name.c_str(), Leave::kNever, false));
      if (!place.fd.valid()) return miss(entry, -place.fd.get());
      err = in_.calls.statx(place.fd.get(), "", AT_EMPTY_PATH, kStatMask, stat);
    } else {
      err = in_.calls.statx(parent.fd.get(), name.c_str(), kStatFlags, kStatMask, stat);
    }
    if (err < 0) return miss(entry, -err);
    place.zone = parent.zone;
    place.remapped = out_.nodes[entry].remapped;
    found(entry, stat, place);
    compare(entry, parent.fd.get(), name.c_str(), 0, stat);
    return place;
  }

  Place look_at_path(EntryIndex entry, const Place& parent, const std::string& name) {
    Found hit = look_up(in_.calls, in_.share, in_.destination, parent.fd.get(), parent.zone, name);
    Node& node = out_.nodes[entry];
    node.left_share = hit.left_share;
    node.zone = hit.zone;
    if (hit.err != 0) return miss(entry, hit.err);
    struct statx stat{};
    const int err = in_.calls.statx(hit.fd.get(), "", AT_EMPTY_PATH, kStatMask, stat);
    if (err < 0) return miss(entry, -err);
    Place place{std::move(hit.fd), hit.zone, true, node.remapped};
    found(entry, stat, place);
    keep_text(entry, std::move(hit.real_path));
    compare(entry, place.fd.get(), "", AT_EMPTY_PATH, stat);
    return place;
  }

  // In the order of the real loader and kernel: an unknown mount, too long, what the kernel calls
  // an invalid handle, the capability, and only then whether the object is there.
  Place look_at_handle(EntryIndex entry, const FileHandle& handle, const MountPaths& mounts) {
    Node& node = out_.nodes[entry];
    const auto mount = mounts.by_id.find(handle.mount_id);
    if (mount == mounts.by_id.end()) {
      node.fate = Fate::kUnknownMount;
      return {};
    }
    if (handle.data.size() > sys::kMaxHandleBytes) {
      node.fate = Fate::kHandleTooLong;
      return {};
    }
    Place place;
    std::unique_lock lock(mutex_);  // of the working directory, see open_by_object_handle
    place.fd = sys::UniqueFd(sys::open_by_object_handle(in_.calls, mount->second.get(),
                                                        handle.type, handle.data));
    lock.unlock();
    if (place.fd.get() != -EINVAL && !in_.destination.capabilities.dac_read_search) {
      place.fd = sys::UniqueFd(-EPERM);
    }
    struct statx stat{};
    int err = place.fd.valid() ? 0 : place.fd.get();
    if (err == 0) err = in_.calls.statx(place.fd.get(), "", AT_EMPTY_PATH, kStatMask, stat);
    if (err < 0) {
      node.fate = Fate::kHandleOpenFailed;
      node.err = -err;
      return {};
    }
    const std::string path = sys::path_of_fd(in_.calls, place.fd.get()).value_or("");
    // A file that no name has led to yet has no path: where it is cannot be said.
    const bool placed = !path.empty() && path != "/";
    place.zone = placed ? in_.share.zone_of(path) : Zone::kShare;
    node.zone = place.zone;
    node.left_share = place.zone == Zone::kOutside;
    found(entry, stat, place);
    keep_text(entry, path);
    LazyHandle itself(in_.calls, place.fd.get(), "", AT_EMPTY_PATH);
    compare_recorded(entry, itself, stat);
    return place;
  }

  Place miss(EntryIndex entry, int err) {
    out_.nodes[entry].fate = Fate::kOpenFailed;
    out_.nodes[entry].err = err;
    return {};
  }

  void found(EntryIndex entry, const struct statx& stat, Place& place) {
    Node& node = out_.nodes[entry];
    node.fate = Fate::kFound;
    node.mode = stat.stx_mode;
    if (!in_.destination.capabilities.dac_override) {
      place.searchable = may_search(open_target(stat, in_.share.mounts), in_.destination);
    }
    judge_handles(entry, stat);
  }

  void keep_text(EntryIndex entry, std::string text) {
    const std::lock_guard lock(mutex_);
    out_.nodes[entry].text = static_cast<std::uint32_t>(out_.texts.size());
    out_.texts.push_back(std::move(text));
  }

  void compare(EntryIndex entry, int dir, const char* name, int flags, const struct statx& stat) {
    LazyHandle handle(in_.calls, dir, name, flags);
    compare_stored(entry, handle, stat);
    compare_recorded(entry, handle, stat);
  }

  void compare_recorded(EntryIndex entry, LazyHandle& handle, const struct statx& stat) {
    if (in_.record == nullptr || out_.nodes[entry].remapped) return;
    const std::uint32_t position = in_.record->position(entry);
    if (position == kNoIndex || !in_.record->is_known(position)) return;
    Today today;
    const std::uint16_t changes = in_.record->compare(in_.calls, position, stat, handle, today);
    out_.changes[entry] = changes;
    if (changes == kCompared) return;
    today.entry = entry;
    const std::lock_guard lock(mutex_);
    out_.today.push_back(std::move(today));
  }

  void compare_stored(EntryIndex entry, LazyHandle& handle, const struct statx& stat) {
    const Inode& inode = in_.state.inodes[entry];
    const bool mandatory = in_.destination.inode_file_handles == InodeFileHandles::kMandatory;
    const bool compared = inode.file_handle && !location_as<FullPath>(inode);
    const bool prefers = in_.share.inode_file_handles == InodeFileHandles::kPrefer;
    const bool other_mount = prefers && stat.stx_mnt_id != in_.share.stat.stx_mnt_id;
    const int no_mount = mounts_.problem(stat.stx_mnt_id);
    if (!compared && !mandatory && !other_mount && no_mount == 0) return;
    Node& node = out_.nodes[entry];
    int err = handle.ask();
    node.without_handle = prefers && err == -EOPNOTSUPP;
    if (err == -EOPNOTSUPP && !compared && !mandatory) return;
    if (err == 0) err = -no_mount;
    if (err < 0) {
      node.fate = Fate::kHandleCheckFailed;
      node.err = -err;
    } else if (compared && !equal(handle.value(), *inode.file_handle)) {
      node.fate = Fate::kHandleDiffers;
      note_mismatch(entry, handle.value(), *inode.file_handle, stat);
    }
  }

  static bool equal(const sys::ObjectHandle& now, const FileHandle& stored) {
    return now.type == stored.type && std::ranges::equal(now.bytes(), stored.data);
  }

  void note_mismatch(EntryIndex entry, const sys::ObjectHandle& now, const FileHandle& stored,
                     const struct statx& stat) {
    const std::lock_guard lock(mutex_);  // of the working directory too, see open_by_object_handle
    HandleMismatch mismatch{entry, now.type, {}, stat.stx_ino, {}};
    mismatch.found.assign(now.bytes().begin(), now.bytes().end());
    // Is the captured object still somewhere on this file system?
    if (stored.data.size() <= sys::kMaxHandleBytes && S_ISDIR(in_.share.stat.stx_mode)) {
      const sys::UniqueFd fd(sys::open_by_object_handle(in_.calls, in_.share.fd.get(), stored.type,
                                                        stored.data));
      if (fd.valid()) mismatch.original_at = sys::path_of_fd(in_.calls, fd.get());
    }
    out_.mismatches.push_back(std::move(mismatch));
  }

  // A stub's children are stubs, whatever lies at their names; parents are taken before children.
  void mark_stubs() {
    for (const EntryIndex entry : in_.order.taken) {
      const EntryIndex parent = in_.order.parent_entry[entry];
      if (parent == kNoIndex || out_.nodes[parent].fate == Fate::kFound) continue;
      out_.nodes[entry].fate = Fate::kParentStub;
    }
    std::ranges::sort(out_.mismatches, {}, &HandleMismatch::entry);
    std::ranges::sort(out_.today, {}, &Today::entry);
  }

  void judge_handles(EntryIndex entry, const struct statx& stat) {
    const auto positions = tree_.handles(entry);
    if (positions.empty()) return;
    const OpenTarget target = open_target(stat, in_.share.mounts);
    for (const std::uint32_t at : positions) {
      out_.handles[at].err = predict_open(target, in_.state.handles[at].flags, in_.destination);
    }
  }

  void look_at_handles() {
    for (std::size_t i = 0; i < out_.handles.size(); ++i) {
      const Slot slot = in_.index.slot_of(in_.state.handles[i].inode);
      const EntryIndex entry = slot == kNoIndex ? kNoIndex : in_.order.in_store[slot];
      out_.handles[i].unknown = entry == kNoIndex;
      out_.handles[i].stub = entry != kNoIndex && out_.nodes[entry].fate != Fate::kFound;
    }
  }

  const WalkInput& in_;
  WalkTree tree_;
  MountProbe mounts_;
  std::mutex mutex_;
  HostWalk out_;
  WalkPool pool_;  // last: its thread uses all of the above
};

}  // namespace

HostWalk walk_host(const WalkInput& input) {
  const bool by_handle = std::ranges::any_of(input.state.inodes, [](const Inode& inode) {
    return inode.file_handle || location_as<HandleLocation>(inode) != nullptr;
  });
  std::optional<sys::KeepsWorkingDirectory> here;
  if (by_handle) here.emplace(input.calls);
  return Walk(input).run();
}

}  // namespace vfsmend
