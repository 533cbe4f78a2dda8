// SPDX-License-Identifier: Apache-2.0
// What the host has where the state says an inode is.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "sys/read_file.h"
#include "verdict/mount_paths.h"
#include "verdict/open_rules.h"
#include "verdict/rules.h"

namespace vfsmend {
namespace {

// Where the common file systems keep the inode number in a handle: exportfs's own form and ext4
// (type 1, 8 bytes), tmpfs (type 1, 12 bytes, behind the generation), xfs and erofs (0x81), btrfs.
std::optional<std::uint64_t> inode_number_in(std::int32_t type, Bytes data) {
  const auto read = [&](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, data.data() + at, size);
    return value;
  };
  if (type == 0x1 && data.size() == 8) return read(0, 4);
  if (type == 0x1 && data.size() == 12) return read(4, 8);
  if ((type == 0x81 && data.size() == 12) || (type == 0x4d && data.size() == 20)) return read(0, 8);
  return std::nullopt;
}

}  // namespace

// A stub's children fail with it: they are judged by what failed above them.
void Rules::find_causes() {
  cause_.resize(in_.state.inodes.size());
  for (const EntryIndex e : in_.order.taken) {
    cause_[e] = node(e).fate == Fate::kParentStub ? cause_[in_.order.parent_entry[e]] : e;
  }
}

void Rules::judge_nodes() {
  find_causes();
  find_binds();
  for (const EntryIndex e : in_.order.taken) {
    if (!in_shadow(e)) judge_node(e);
  }
}

void Rules::judge_node(EntryIndex e) {
  const Node& n = node(e);
  const bool leaves = n.left_share || (n.zone == Zone::kOutside && n.fate == Fate::kFound);
  if (leaves && n.fate == Fate::kFound) {
    if (!claim(e)) return;
    // What lies below another sandbox's directory comes along with it.
    const AllowedDir* const own = bind_above_[e] == kNoIndex ? nullptr : bind_of_today(bind_above_[e]);
    const Verdict verdict = own && in_.destination.allow_rebind ? Verdict::kRepair : Verdict::kRebuild;
    out_.add(Code::kP004, verdict, [&] {
      Finding f = about(Code::kP004, verdict, e);
      const std::string where = input_.texts.path_of(e).value_or("a place outside the share");
      f.message = fmt::format("inode {} leads out of the share, to {}", inode(e).id, where);
      f.after = {{"path", where}};
      f.guest_sees = in_.destination.share_is_root()
                         ? "another file's bytes: the sandbox resolves the name inside the share"
                         : "files that were never shared with it";
      if (own && bind_above_[e] == e) offer_rebind(*own, where, f);
      return f;
    });
    return;
  }
  switch (n.fate) {
    case Fate::kFound:
      if (!judge_recorded_object(e)) judge_type(e);
      return;
    case Fate::kHandleDiffers:
      if (!judge_recorded_object(e)) judge_identity(e);
      return;
    case Fate::kOpenFailed:
    case Fate::kParentStub:
    case Fate::kNulInName:
    case Fate::kHandleCheckFailed:
    case Fate::kUnknownMount:
    case Fate::kHandleTooLong:
    case Fate::kHandleOpenFailed: judge_missing(e); return;
    case Fate::kLost:
    case Fate::kNotTried: return;
  }
}

// P003 as far as the state tells the type: a directory has children or a handle of OPENDIR, a file
// a handle without O_DIRECTORY.
void Rules::judge_type(EntryIndex e) {
  const mode_t mode = node(e).mode;
  bool was_dir = !in_.index.children(in_.index.slot_of_entry(e)).empty();
  bool was_file = false;
  for (const std::uint32_t at : handles_on(in_.index.slot_of_entry(e))) {
    const std::int32_t flags = in_.state.handles[at].flags;
    if ((flags & (kOpenPath | kOpenTmpfile)) != 0) continue;
    ((flags & kOpenDirectory) != 0 ? was_dir : was_file) = true;
  }
  const bool is_root = inode(e).id == kRootId;
  const bool wrong = (was_dir && !S_ISDIR(mode)) || (was_file && !was_dir && !S_ISREG(mode));
  if (!wrong || is_root || !claim(e)) return;
  out_.add(Code::kP003, Verdict::kRebuild, [&] {
    Finding f = about(Code::kP003, Verdict::kRebuild, e);
    f.message = fmt::format("{} is {} now, and was {} when the guest used it", f.path,
                            sys::kind_of(mode), was_dir ? "a directory" : "a regular file");
    f.before = {{"type", was_dir ? "directory" : "regular file"}};
    f.after = {{"type", sys::kind_of(mode)}};
    f.guest_sees = was_dir ? "EIO on every path below it" : "EIO through the open descriptor";
    return f;
  });
}

void Rules::judge_identity(EntryIndex e) {
  if (!claim(e)) return;
  const auto at = std::ranges::lower_bound(input_.walk->mismatches, e, {}, &HandleMismatch::entry);
  const FileHandle& stored = *inode(e).file_handle;
  const bool same_number = stored.type == at->found_type &&
                           inode_number_in(stored.type, stored.data) == at->found_ino;
  const Code code = same_number ? Code::kI002 : Code::kI001;
  const bool reachable = at->original_at && in_.share.zone_of(*at->original_at) == Zone::kShare &&
                         inode(e).id != kRootId;
  const Verdict verdict = reachable ? Verdict::kRepair : Verdict::kRebuild;
  out_.add(code, verdict, [&] {
    Finding f = about(code, verdict, e);
    f.message = same_number
                    ? fmt::format("{} has the same inode number, but another object: the number "
                                  "was used again", inode(e).id == kRootId ? "the root" : f.path)
                    : fmt::format("another object lies at {}",
                                  inode(e).id == kRootId ? "the root of the share" : f.path);
    f.before = {{"handle", spaced_hex(stored.data)}};
    f.after = {{"handle", spaced_hex(at->found)}};
    f.guest_sees = inode(e).id == kRootId ? "nothing: the restore fails"
                                          : "another file's bytes, were it not for the handle";
    if (reachable) {
      f.after.emplace_back("original", *at->original_at);
      std::string to = at->original_at->substr(in_.share.real_path == "/" ? 0 : in_.share.real_path.size());
      to.erase(0, to.find_first_not_of('/'));
      f.repair = follow(f.path, *at->original_at, std::move(to));
    }
    return f;
  });
}

namespace {

struct Miss {
  Code code = Code::kP001;
  Verdict verdict = Verdict::kRepair;  // under abort; P001 is milder under guest-error
  const char* action = nullptr;        // nullptr: dropping it is the repair, or there is none
  Mend mend = Mend::kNone;
};

// The share did not answer: what is there cannot be said.
bool is_unreachable(const Node& n) {
  const bool by_handle = n.fate == Fate::kHandleOpenFailed;  // ESTALE is an answer there
  return n.err == EIO || n.err == ETIMEDOUT || n.err == ENOTCONN || n.err == EHOSTDOWN ||
         n.err == EREMOTEIO || (n.err == ESTALE && !by_handle);
}

Miss classify(const Node& n) {
  if (is_unreachable(n)) return {Code::kE001, Verdict::kIndeterminate, nullptr};
  switch (n.fate) {
    case Fate::kNulInName:
    case Fate::kHandleTooLong: return {Code::kS003, Verdict::kColdboot, nullptr};
    case Fate::kUnknownMount: return {Code::kR004, Verdict::kIndeterminate, nullptr};
    case Fate::kHandleCheckFailed:
      return {Code::kO001, Verdict::kRepair, "strip the stored handles from the state",
              Mend::kStripHandles};
    case Fate::kHandleOpenFailed:
      if (n.err == EPERM) {
        return {Code::kE002, Verdict::kRepair,
                "start the daemon with --inode-file-handles=prefer or "
                "--modcaps=+dac_read_search"};
      }
      if (n.err == EINVAL) return {Code::kS003, Verdict::kColdboot, nullptr};
      return {};
    case Fate::kOpenFailed:
      if (n.err == EACCES) {
        return {Code::kE002, Verdict::kRepair, "run the daemon as a user that may search it"};
      }
      if (n.err == ENOTDIR || n.err == ELOOP) return {Code::kP003, Verdict::kRebuild, nullptr};
      return {};
    default: return {};
  }
}

}  // namespace

void Rules::judge_missing(EntryIndex e) {
  const EntryIndex cause = cause_[e];
  if (node(cause).fate == Fate::kHandleDiffers) return;  // told by I001
  if (inode(cause).id == kRootId) return;                // told by S001
  if (is_missing_bind(cause)) return;                    // told by R005
  Miss miss = classify(node(cause));
  if (miss.code == Code::kP001 && judge_moved(e)) return;
  if (cause != e && miss.code != Code::kP001) return;  // told at the cause
  // A directory that is there today under another sandbox's id: all below it comes back with it.
  const AllowedDir* const bind = miss.code == Code::kP001 ? bind_of_today(cause) : nullptr;
  if (miss.code == Code::kP001 && !abort() && !bind) miss.verdict = Verdict::kResume;
  if (!claim(e)) return;
  out_.add(miss.code, miss.verdict, [&] {
    Finding f = about(miss.code, miss.verdict, e);
    const std::string why = input_.texts.reason(cause).text;
    f.message = cause == e ? why : fmt::format("gone with inode {}: {}", inode(cause).id, why);
    f.guest_sees = f.open ? "EIO on the path and through what is open on it" : "EIO on the path";
    if (bind && cause == e) {
      offer_bind(e, *bind, f);
    } else if (bind) {
      f.after = {{"path", "absent"}};
      f.repair = Remedy{fmt::format("none of its own: it is found again with inode {}", inode(cause).id), true, {}};
    } else if (miss.code == Code::kP001) {
      f.after = {{"path", "absent"}};
      Remedy remedy{"drop the inode from the state; the guest looks the name up again", true,
                    subtree_casualties(e), Mend::kDropInode};
      remedy.safe = remedy.casualties.empty();
      f.repair = std::move(remedy);
    } else if (miss.action) {
      f.repair = Remedy{miss.action, false, {}, miss.mend};
    }
    return f;
  });
}

// H002: the inode is there, and cannot be opened as the guest had it.
void Rules::judge_handles() {
  for (std::size_t i = 0; i < input_.walk->handles.size(); ++i) {
    const OpenHandle& result = input_.walk->handles[i];
    if (result.err == 0 || result.unknown || result.stub) continue;
    const Handle& handle = in_.state.handles[i];
    const EntryIndex e = in_.order.in_store[in_.index.slot_of(handle.inode)];
    if (claimed_[e] || in_shadow(e)) continue;
    out_.add(Code::kH002, Verdict::kRepair, [&] {
      Finding f = about(Code::kH002, Verdict::kRepair, e);
      f.handle = handle.id;
      f.message = input_.texts.handle_reason(i).text;
      f.before = {{"flags", flags_text(handle.flags)}};
      f.after = {{"open", errno_text(result.err)}};
      f.guest_sees = "EIO through the open descriptor";
      const char* action = result.err == EROFS   ? "make the mount writable again"
                           : result.err == EPERM ? "take the immutable or append-only attribute "
                                                   "off again"
                           : result.err == EACCES ? "run the daemon as a user that may open it"
                                                  : "change the recorded flags";
      f.repair = Remedy{action, false, {}};
      return f;
    });
  }
}

}  // namespace vfsmend
