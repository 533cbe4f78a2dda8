// SPDX-License-Identifier: Apache-2.0
#include "verdict/restore_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>

#include "base/text.h"

namespace vfsmend {
namespace {

class Load {
 public:
  Load(const WalkInput& input, const HostWalk& walk)
      : in_(input), walk_(walk), texts_(input, walk), room_(descriptor_room(input.destination)) {
    keeps_descriptors_ = input.share.inode_file_handles == InodeFileHandles::kNever;
  }

  Prediction run() {
    Restore& restore = out_.restore;
    restore.outcome = Outcome::kSucceeds;
    if (options_agree() && early_root() && inodes() && handles()) finish();
    if (out_.error) {
      restore = failed(*out_.error, in_.destination);
    } else if (restore.outcome == Outcome::kHangs) {
      restore.dead_mount = true;
    }
    return std::move(out_);
  }

 private:
  bool fail(LoaderError error) {
    out_.error = std::move(error);
    return false;
  }

  bool fail_graph(std::string text) { return fail(custom_error("Other", std::move(text))); }

  bool options_agree() {
    const NegotiatedOptions& want = in_.state.options;
    const Destination& have = in_.destination;
    const char* off = nullptr;
    if (want.posix_acl && !have.posix_acl) off = "posix ACLs";
    if (want.announce_submounts && !have.announce_submounts) off = "announce-submounts";
    if (want.writeback && !have.writeback) off = "writeback";
    if (off == nullptr) return true;
    return fail_graph(fmt::format(
        "Migration source wants {} enabled, but it is disabled on the destination", off));
  }

  // With mount paths the root comes first, and then a path that is a FIFO blocks the loader.
  bool early_root() {
    if (in_.order.error == GraphError::kNoRoot) {
      return fail_graph("Received no root node from the source");
    }
    if (in_.order.error == GraphError::kRootNotRoot) {
      return fail_graph("Root node has not been serialized as root node");
    }
    if (!walk_.mount_path_hangs) return true;
    if (!root(in_.order.taken.front())) return false;
    out_.restore.outcome = Outcome::kHangs;
    return false;
  }

  bool inodes() {
    for (std::size_t i = 0; i < in_.order.taken.size(); ++i) {
      const EntryIndex entry = in_.order.taken[i];
      const bool last = i + 1 == in_.order.taken.size();
      const GraphError refusal = last ? in_.order.error : GraphError::kNone;
      if (!inode(entry, refusal == GraphError::kUnresolved ? GraphError::kNone : refusal)) {
        return false;
      }
      if (in_.order.evicted[i] != kNoIndex) release(in_.order.evicted[i]);
    }
    if (in_.order.error != GraphError::kUnresolved) return true;
    return fail_graph("Unresolved references between serialized inodes");
  }

  bool inode(EntryIndex entry, GraphError refusal) {
    const Inode& inode = in_.state.inodes[entry];
    switch (refusal) {
      case GraphError::kSecondRoot:
        return fail_graph(
            fmt::format("Node with non-root ID ({}) given as root node", inode.id));
      case GraphError::kRootGivenPath:
        return fail_graph("Refusing to use path given for root node");
      case GraphError::kRootGivenHandle:
        return fail_graph("Refusing to use file handle given for root node");
      default: break;
    }
    const bool doubled = refusal == GraphError::kDoubleUse;
    const std::string double_use = fmt::format("Double-use of FUSE inode ID {}", inode.id);
    if (location_as<RootNode>(inode)) {
      if (!doubled) return root(entry);
      const bool starved = keeps_descriptors_ && !allocate();
      return starved ? fail(os_error(ENFILE)) : fail_graph(double_use);
    }
    if (!place(entry)) return false;
    return doubled ? fail_graph(double_use) : true;
  }

  // The root has no policy: it is there, and the right one, or the load ends.
  bool root(EntryIndex entry) {
    if (keeps_descriptors_ && !allocate()) return fail(os_error(ENFILE));
    const Fate fate = walk_.nodes[entry].fate;
    return fate == Fate::kFound ? true : fail(texts_.reason(entry));
  }

  bool place(EntryIndex entry) {
    const NodeId id = in_.state.inodes[entry].id;
    const Fate fate = walk_.nodes[entry].fate;
    const EntryIndex parent = in_.order.parent_entry[entry];
    bool starved = parent != kNoIndex && starved_.contains(parent);
    if (!starved && opens(fate) && keeps_descriptor(entry)) {
      starved = !allocate();
      if (!starved && fate != Fate::kFound) release_one();  // the wrong object is closed again
    }
    if (!starved && fate == Fate::kFound) return true;
    if (in_.destination.on_error == OnError::kAbort) {
      if (!starved) return fail(texts_.abort_reason(entry));
      return fail(custom_error("Uncategorized",
                               fmt::format("Inode {}: {}", id, os_error_text(ENFILE))));
    }
    out_.restore.invalid_inodes.push_back(id);
    if (starved) starved_.insert(entry);
    return true;
  }

  static bool opens(Fate fate) {
    return fate == Fate::kFound || fate == Fate::kHandleDiffers ||
           fate == Fate::kHandleCheckFailed;
  }

  // A second handle with an id takes the place of the first, whose descriptor is closed then, also
  // where the second is a stub.
  bool handles() {
    for (std::size_t i = 0; i < in_.state.handles.size(); ++i) {
      const OpenHandle& handle = walk_.handles[i];
      if (handle.unknown) {
        return fail_graph(fmt::format("Inode {} not found", in_.state.handles[i].inode));
      }
      const bool opened = !handle.stub && handle.err == 0 && !starved(i);
      const HandleId id = in_.state.handles[i].id;
      if (opened && allocate()) {
        if (room_ && !open_ids_.insert(id).second) release_one();
        continue;
      }
      if (in_.destination.on_error == OnError::kAbort) {
        return fail(opened ? os_error(ENFILE) : texts_.handle_reason(i));
      }
      out_.restore.invalid_handles.push_back(id);
      if (open_ids_.erase(id) > 0) release_one();
    }
    return true;
  }

  void finish() {
    Restore& restore = out_.restore;
    for (auto* ids : {&restore.invalid_inodes, &restore.invalid_handles}) {
      std::ranges::sort(*ids);
      ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
    }
    if (in_.state.inodes.empty()) return;
    const Slot root = in_.index.slot_of(kRootId);
    restore.dead_mount = root == kNoIndex || in_.order.in_store[root] == kNoIndex ||
                         std::ranges::binary_search(restore.invalid_inodes, kRootId);
  }

  // A handle on an inode that found no descriptor is one on a stub.
  [[nodiscard]] bool starved(std::size_t handle) const {
    const Slot slot = in_.index.slot_of(in_.state.handles[handle].inode);
    return starved_.contains(in_.order.in_store[slot]);
  }

  bool allocate() {
    if (room_ && used_ >= *room_) return false;
    ++used_;
    return true;
  }

  void release_one() {
    if (used_ > 0) --used_;
  }

  // prefer keeps handles where there are some.
  [[nodiscard]] bool keeps_descriptor(EntryIndex entry) const {
    return keeps_descriptors_ || walk_.nodes[entry].without_handle;
  }

  void release(EntryIndex entry) {
    const bool open = walk_.nodes[entry].fate == Fate::kFound && !starved_.contains(entry);
    if (open && keeps_descriptor(entry)) release_one();
  }

  const WalkInput& in_;
  const HostWalk& walk_;
  LoaderTexts texts_;
  std::optional<std::uint64_t> room_;
  std::uint64_t used_ = 0;
  std::unordered_set<HandleId> open_ids_;  // only where descriptors are counted
  bool keeps_descriptors_ = true;
  std::unordered_set<EntryIndex> starved_;  // stubs for want of a descriptor, and their children
  Prediction out_;
};

// What the user of the platform sees in its log in place of the loader's text.
std::optional<std::string> wrapped(const LoaderError& error, const Destination& destination) {
  if (!destination.is_cube()) return std::nullopt;
  return fmt::format("Failed activating the device: InvalidVirtioFsState({})", error.debug);
}

}  // namespace

Prediction predict(const WalkInput& input, const HostWalk& walk) {
  return Load(input, walk).run();
}

Restore failed(const LoaderError& error, const Destination& destination) {
  Restore restore;
  restore.outcome = Outcome::kFails;
  restore.error = error.text;
  restore.wrapped = wrapped(error, destination);
  return restore;
}

std::optional<std::uint64_t> descriptor_room(const Destination& destination) {
  const bool counted = !destination.is_cube() && destination.version >= Version{1, 13, 2} &&
                       destination.rlimit_nofile.value_or(0) != 0;
  if (!counted) return std::nullopt;
  const std::uint64_t taken =
      kReservedDescriptors + std::max<std::uint64_t>(destination.thread_pool_size, 1);
  return *destination.rlimit_nofile > taken ? *destination.rlimit_nofile - taken : 0;
}

}  // namespace vfsmend
