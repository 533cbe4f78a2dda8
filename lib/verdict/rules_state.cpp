// SPDX-License-Identifier: Apache-2.0
// What the bytes alone tell: records that are lost, doubled, orphaned or miscounted.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "verdict/hidden_file.h"
#include "verdict/rules.h"

namespace vfsmend {
namespace {

constexpr const char* kDeadMount =
    "EIO on every path of the mount, for ever, if the restore goes on at all";
constexpr const char* kNoRestore = "nothing: the restore fails";

}  // namespace

void Rules::judge_state() {
  const bool all_lost = judge_root();
  judge_duplicates();
  judge_orphans();
  judge_counts();
  judge_next_ids();
  judge_unresolved();
  if (!all_lost) judge_lost();
}

// S001. True where every record is lost: what the pause leaves that was never prepared. The one
// finding stands for all of them then.
bool Rules::judge_root() {
  if (in_.state.inodes.empty()) return false;
  const EntryIndex root = in_.index.first_entry(kRootId);
  if (root != kNoIndex && location_as<RootNode>(inode(root))) return false;
  const auto is_lost = [](const Inode& i) { return location_as<Invalid>(i) != nullptr; };
  const bool all_lost = root != kNoIndex && std::ranges::all_of(in_.state.inodes, is_lost);
  if (root != kNoIndex) claim(root);
  out_.add(Code::kS001, Verdict::kRepair, [&] {
    Finding f;
    f.code = Code::kS001;
    f.verdict = Verdict::kRepair;
    f.inode = kRootId;
    f.open = root != kNoIndex && is_open(root);
    f.guest_sees = kDeadMount;
    f.before = {{"location", "RootNode"}};
    Remedy remedy{"write the root record: the root is always the share", true, {}, Mend::kWriteRoot};
    if (all_lost) {
      f.message = fmt::format(
          "all {} locations are lost, the root's too: the pause took the state without preparing "
          "it (CubeSandbox reports this as InvalidVirtioFsState)",
          in_.state.inodes.size());
      remedy.action =
          "write the root record and drop the lost inodes and handles (paths heal when the guest "
          "looks them up again); with a node map of the guest, give the inodes their paths back";
      for (EntryIndex e = 0; e < in_.state.inodes.size() && remedy.casualties.size() < 100; ++e) {
        for (std::string& lost : casualties(e)) remedy.casualties.push_back(std::move(lost));
      }
      remedy.safe = in_.state.handles.empty();
      remedy.mend = Mend::kDropLost;
    } else if (root == kNoIndex) {
      f.message = "the state has no record of the root (node id 1)";
    } else if (location_as<Invalid>(inode(root))) {
      f.message = "the record of the root (node id 1) is Invalid: the source lost it";
    } else {
      f.message = "the record of the root (node id 1) does not say that it is the root";
    }
    f.after = {{"location", root == kNoIndex ? "absent" : all_lost ? "Invalid (all)" : "not RootNode"}};
    f.repair = std::move(remedy);
    return f;
  });
  if (all_lost) std::fill(claimed_.begin(), claimed_.end(), true);
  return all_lost;
}

void Rules::judge_duplicates() {
  for (Slot slot = 0; slot < in_.index.slot_count(); ++slot) {
    const auto entries = in_.index.entries(slot);
    if (entries.size() > 1 && claim(entries[1])) {
      out_.add(Code::kS003, Verdict::kColdboot, [&] {
        Finding f = about(Code::kS003, Verdict::kColdboot, entries[1]);
        f.message = fmt::format("node id {} has {} records: which one the guest means cannot be "
                                "known", in_.index.id_of(slot), entries.size());
        f.guest_sees = kNoRestore;
        return f;
      });
    }
  }
  for (EntryIndex e = 0; e < in_.state.inodes.size(); ++e) {
    if (!location_as<RootNode>(inode(e)) || inode(e).id == kRootId || !claim(e)) continue;
    out_.add(Code::kS003, Verdict::kColdboot, [&] {
      Finding f = about(Code::kS003, Verdict::kColdboot, e);
      f.message = fmt::format("inode {} claims to be the root, which is inode 1", inode(e).id);
      f.guest_sees = kNoRestore;
      return f;
    });
  }
}

// A handle on no inode ends the load; of two with one id the guest has only the last.
void Rules::judge_orphans() {
  std::vector<HandleId> ids;
  ids.reserve(in_.state.handles.size());
  const auto add = [&](const Handle& handle, std::string message, std::string sees, bool safe) {
    out_.add(Code::kS003, Verdict::kRepair, [&] {
      Finding f;
      f.code = Code::kS003;
      f.verdict = Verdict::kRepair;
      f.inode = handle.inode;
      f.handle = handle.id;
      f.open = true;
      f.message = std::move(message);
      f.guest_sees = std::move(sees);
      Remedy remedy{"drop the handle from the state", safe, {}, Mend::kDropHandle};
      if (!safe) remedy.casualties = {fmt::format("handle {} ({})", handle.id,
                                                  flags_text(handle.flags))};
      f.repair = std::move(remedy);
      return f;
    });
  };
  for (const Handle& handle : in_.state.handles) {
    ids.push_back(handle.id);
    if (in_.index.slot_of(handle.inode) != kNoIndex) continue;
    add(handle, fmt::format("handle {} is open on inode {}, which the state does not have",
                            handle.id, handle.inode), kNoRestore, false);
  }
  std::ranges::sort(ids);
  const auto twice = [&](HandleId id) {
    const auto first = std::lower_bound(ids.begin(), ids.end(), id);
    return std::next(first) != ids.end() && *std::next(first) == id;
  };
  HandleId last_told = 0;
  bool told = false;
  for (const Handle& handle : in_.state.handles) {
    if (!twice(handle.id) || (told && last_told == handle.id)) continue;
    told = true;
    last_told = handle.id;
    add(handle, fmt::format("handle id {} stands in the state more than once; the last record "
                            "wins", handle.id),
        "another file's bytes through that descriptor, if the records name different files",
        true);
  }
}

// A parent gives one reference back for each Path child; at zero it leaves the store.
void Rules::judge_counts() {
  for (Slot slot = 0; slot < in_.index.slot_count(); ++slot) {
    const std::uint64_t children = in_.index.path_children(slot);
    const EntryIndex e = in_.index.entries(slot).front();
    const std::uint64_t count = inode(e).refcount;
    const bool is_root = in_.index.id_of(slot) == kRootId;
    // A FullPath holds no reference, and yet is looked for only where the root has one.
    const bool full_paths = in_.index.children(slot).size() > children;
    if (children == 0 && !(full_paths && count == 0)) continue;
    // Exactly its children is legal for a directory that the guest does not know itself.
    const bool enough = is_root || is_open(e) ? count > children : count >= children;
    if (enough || !claim(e)) continue;
    out_.add(Code::kS003, Verdict::kRepair, [&] {
      Finding f = about(Code::kS003, Verdict::kRepair, e);
      f.message = fmt::format("inode {} has {} children in the state and a reference count of {}: "
                              "it leaves the store before they are all restored",
                              inode(e).id, in_.index.children(slot).size(), count);
      f.before = {{"refcount", std::to_string(count)}};
      f.after = {{"children", std::to_string(in_.index.children(slot).size())}};
      f.guest_sees = is_root ? "EBADF on every path, or no restore" : "EBADF, or no restore";
      f.repair = Remedy{"correct the reference count", true, {}, Mend::kCorrectCount};
      return f;
    });
  }
}

// An id given out twice makes two files one to the guest.
void Rules::judge_next_ids() {
  const auto add = [&](const char* name, std::uint64_t next, std::uint64_t highest,
                       const char* sees) {
    out_.add(Code::kS003, Verdict::kRepair, [&] {
      Finding f;
      f.code = Code::kS003;
      f.verdict = Verdict::kRepair;
      f.message = fmt::format("{} is {}, but id {} is in use", name, next, highest);
      f.before = {{name, std::to_string(next)}};
      f.after = {{"highest", std::to_string(highest)}};
      f.guest_sees = sees;
      f.repair =
          Remedy{fmt::format("raise {} above every id in use", name), true, {}, Mend::kRaiseNextIds};
      return f;
    });
  };
  if (in_.index.slot_count() > 0) {
    const NodeId highest = in_.index.id_of(static_cast<Slot>(in_.index.slot_count() - 1));
    if (in_.state.next_inode <= highest) {
      add("next_inode", in_.state.next_inode, highest, "EIO for newly looked up files");
    }
  }
  HandleId highest = 0;
  for (const Handle& handle : in_.state.handles) highest = std::max(highest, handle.id);
  if (!in_.state.handles.empty() && in_.state.next_handle <= highest) {
    add("next_handle", in_.state.next_handle, highest,
        "another file's bytes: the next open takes over a live descriptor");
  }
}

// What the loader never comes to: a parent that is missing, or parents in a circle. Only where the
// trouble begins; what hangs below is a consequence.
void Rules::judge_unresolved() {
  if (in_.order.error != GraphError::kUnresolved) return;
  std::vector<bool> taken(in_.state.inodes.size());
  for (const EntryIndex e : in_.order.taken) taken[e] = true;
  for (EntryIndex e = 0; e < in_.state.inodes.size(); ++e) {
    if (taken[e]) continue;
    const Slot parent = in_.index.parent_slot(e);
    const auto* path = location_as<Path>(inode(e));
    const EntryIndex above = parent == kNoIndex ? kNoIndex : in_.index.entries(parent).front();
    // Below an ordinary untaken parent it is a consequence; a circle is told at its lowest id.
    if (above != kNoIndex && (taken[above] || inode(above).id < inode(e).id) && above != e) continue;
    if (parent == in_.index.slot_of(kRootId) && !path) continue;  // S001 says it
    if (path && path->parent == kRootId) continue;
    if (!claim(e)) continue;
    out_.add(Code::kS003, Verdict::kColdboot, [&] {
      Finding f = about(Code::kS003, Verdict::kColdboot, e);
      f.message = above == kNoIndex
                      ? fmt::format("inode {} lies in inode {}, which the state does not have",
                                    inode(e).id, path ? path->parent : kRootId)
                      : fmt::format("inode {} is its own ancestor: its parents form a circle, or "
                                    "hang below one", inode(e).id);
      f.guest_sees = kNoRestore;
      return f;
    });
  }
}

// The capture saw names that no state can hold: which inode each belongs to, nobody knows.
bool Rules::has_unspeakable_names() const {
  if (record() == nullptr) return false;
  const EntryTable& e = record()->section().entries;
  for (std::size_t i = 0; i < e.size_of(); ++i) {
    if (e.node[i] == 0 && !is_utf8(e.name[i])) return true;
  }
  return false;
}

// H001: the file has no name, and its bytes were kept at the capture.
bool Rules::judge_kept(EntryIndex e) {
  if (record() == nullptr) return false;
  const auto kept = hidden_file(record()->section(), input_.options->manifest_path, inode(e).id);
  if (!kept) return false;
  struct statx stat{};
  const std::string name = name_of_kept(*kept);
  const int err = in_.calls.statx(input_.options->manifest_directory, name.c_str(), AT_SYMLINK_NOFOLLOW,
                                  STATX_TYPE | STATX_SIZE, stat);
  if (err < 0 || !S_ISREG(stat.stx_mode) || stat.stx_size != kept->size) return false;
  out_.add(Code::kH001, Verdict::kRepair, [&] {
    Finding f = about(Code::kH001, Verdict::kRepair, e);
    f.message = fmt::format("inode {} is open and has no name any more; its bytes were kept",
                            inode(e).id);
    f.before = {{"kept", kept->file}};
    f.after = {{"location", "Invalid"}};
    f.guest_sees = "EIO through what is open on it";
    f.repair = Remedy{fmt::format("put the kept bytes at {} for the time of the resume", kept->hidden_name),
                      true, {}, Mend::kKeptBytes, kept->hidden_name};
    return f;
  });
  return true;
}

// S004 and S006: the source could not say where an inode is.
void Rules::judge_lost() {
  const bool unspeakable = has_unspeakable_names();
  for (EntryIndex e = 0; e < in_.state.inodes.size(); ++e) {
    if (!location_as<Invalid>(inode(e)) || !claim(e)) continue;
    const Slot slot = in_.index.slot_of_entry(e);
    if (is_open(e) && judge_kept(e)) continue;
    const bool needed = is_open(e) || !in_.index.children(slot).empty();
    const Code code = needed || unspeakable ? Code::kS004 : Code::kS006;
    const Verdict verdict = abort() ? Verdict::kRepair : Verdict::kResume;
    out_.add(code, verdict, [&] {
      Finding f = about(code, verdict, e);
      f.before = {{"location", "known"}};
      f.after = {{"location", "Invalid"}};
      if (needed) {
        f.message = fmt::format("the source lost inode {}, which the guest still uses", f.inode.value());
        f.guest_sees = "EIO through what is open on it and on every path below it";
        f.repair = Remedy{"drop the inode and what hangs on it, or give it its path by a node map",
                          false, subtree_casualties(e), Mend::kDropInode};
        if (f.repair->casualties.empty()) f.repair->safe = true;
      } else if (unspeakable) {
        f.message = fmt::format("the source lost inode {}: it may be a file whose name is not UTF-8 "
                                "(N001 of the capture), which is still there", f.inode.value());
        f.guest_sees = "EIO on its path";
        f.repair = Remedy{"drop the inode from the state; the guest looks the name up again", true, {},
                          Mend::kDropInode};
      } else {
        f.message = fmt::format("the source lost inode {}: unlinked, and not yet forgotten by the "
                                "guest; nothing refers to it", f.inode.value());
        f.guest_sees = "nothing, once the restore succeeds";
        f.repair = Remedy{"drop the inode from the state", true, {}, Mend::kDropInode};
      }
      return f;
    });
  }
}

}  // namespace vfsmend
