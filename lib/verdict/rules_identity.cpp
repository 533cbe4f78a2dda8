// SPDX-License-Identifier: Apache-2.0
// Is what stands at a name the object that was captured, and if not, where is that one?
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/text.h"
#include "sys/read_file.h"
#include "verdict/rules.h"

namespace vfsmend {

// True where the object is claimed, or needs no other judgement.
bool Rules::judge_recorded_object(EntryIndex e) {
  const std::uint32_t at = recorded(e);
  const std::uint16_t what = changes(e);
  if (at == kNoIndex || what == 0 || inode(e).id == kRootId) return false;
  const bool parent_moved = moved_to_.contains(in_.order.parent_entry[e]);
  if ((what & (kOtherObject | kOtherType)) == 0) {
    // Its directory was replaced, and it was carried over into the new one.
    if (!parent_moved || moves_with_parent(e) || !claim(e)) return false;
    tell_moved(e, input_.texts.name_path(e));
    return true;
  }
  if (rebound_ && (what & kOtherType) == 0) return false;  // all objects are others
  if (!claim(e)) return true;
  if ((what & kOtherType) != 0) {
    const std::uint32_t was = record()->section().entries.mode[at];
    tell(Code::kP003, Verdict::kRebuild, e, [&](Finding& f) {
      f.before = {{"type", sys::kind_of(was)}};
      f.after = {{"type", sys::kind_of(today(e)->facts.mode)}};
      f.message = fmt::format("{} is {} now, and was {} at the capture", f.path,
                              f.after[0].second, f.before[0].second);
      f.guest_sees = "another kind of file than its kernel takes it for";
    });
    return true;
  }
  if (moves_with_parent(e)) return true;
  if (const auto to = finder_->find(at)) tell_moved(e, *to);
  else tell_replaced(e);
  return true;
}

// A missing one: P002 where the record leads to it. True where that is told.
bool Rules::judge_moved(EntryIndex e) {
  const std::uint32_t at = recorded(e);
  if (at == kNoIndex || inode(e).id == kRootId || claimed_[e]) return false;
  if (moves_with_parent(e)) return claim(e);
  const auto to = finder_->find(at);
  if (!to || !claim(e)) return false;
  tell_moved(e, *to);
  return true;
}

// Its directory was found elsewhere, and it lies in there as before: mended with the directory.
bool Rules::moves_with_parent(EntryIndex e) {
  const auto parent = moved_to_.find(in_.order.parent_entry[e]);
  const auto* path = location_as<Path>(inode(e));
  if (parent == moved_to_.end() || path == nullptr) return false;
  std::string to = parent->second + "/" + std::string(path->filename);
  if (!finder_->is_at(recorded(e), to)) return false;
  moved_to_[e] = std::move(to);
  return true;
}

Remedy Rules::follow(const std::string& path, const std::string& shown, std::string to) {
  if (is_utf8(to)) {
    return {fmt::format("rewrite the path in the state to {}", shown), true, {}, Mend::kRewritePath, std::move(to)};
  }
  return {fmt::format("rename it back to {}: a state cannot hold names that are not UTF-8", path), false, {}};
}

// A name fewer than at the capture: the one in the state is a link that was split off.
void Rules::tell_moved(EntryIndex e, const std::string& to) {
  const EntryTable& then = record()->section().entries;
  const std::uint32_t at = recorded(e);
  struct statx stat{};
  const sys::UniqueFd fd(open_path(in_.calls, in_.share.fd.get(), to.c_str(), Leave::kNever, false));
  const std::string path = input_.texts.name_path(e);
  const bool carried_over = to == path;  // the name leads to it still, and its directory is another one
  // An overlay without an index makes a file of its own out of the link that is written to, or moved, and
  // goes on counting it as a name.
  const bool copied = changes(e) != 0 && record()->kind_at(at) == MountKind::kOverlay;
  const bool split = !carried_over && then.nlink[at] > 1 && !S_ISDIR(then.mode[at]) && fd.valid() &&
                     in_.calls.statx(fd.get(), "", AT_EMPTY_PATH, STATX_NLINK, stat) == 0 &&
                     (copied || stat.stx_nlink < then.nlink[at]);
  moved_to_[e] = to;
  const Code code = split ? Code::kI004 : Code::kP002;
  const bool there = changes(e) != 0;
  tell(code, Verdict::kRepair, e, [&](Finding& f) {
    f.message = split ? fmt::format("{} was one of {} names of a file, and is {}; the file is still at {}",
                                    f.path, then.nlink[at], there ? "another file now" : "gone", to)
                : carried_over
                    ? fmt::format("{} was carried over into the directory that has taken the place of its own",
                                  f.path)
                    : fmt::format("{} was moved to {}", f.path, to);
    f.before = {{"path", f.path}};
    f.after = {{"path", to}};
    f.guest_sees = carried_over ? "EIO on the path, once that of its directory is mended"
                   : there      ? "another file's bytes"
                   : f.open     ? "EIO on the path and through what is open on it"
                                : "EIO on the path";
    f.repair = follow(f.path, to, to);
  });
}

void Rules::tell_replaced(EntryIndex e) {
  const EntryTable& then = record()->section().entries;
  const std::uint32_t at = recorded(e);
  const Today& now = *today(e);
  const Code code = (changes(e) & kSameNumber) != 0 ? Code::kI002 : Code::kI001;
  tell(code, Verdict::kRebuild, e, [&](Finding& f) {
    f.message = code == Code::kI002
                    ? fmt::format("{} has the same inode number, but another object: the number was "
                                  "used again", f.path)
                    : fmt::format("another object lies at {}, and the captured one was not found", f.path);
    f.before = {{"inode", std::to_string(then.ino[at])}};
    f.after = {{"inode", std::to_string(now.facts.ino)}};
    f.guest_sees = "another file's bytes";
  });
}

}  // namespace vfsmend
