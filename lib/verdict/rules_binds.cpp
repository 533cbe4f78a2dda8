// SPDX-License-Identifier: Apache-2.0
// CubeSandbox's allowed_dirs and the inodes that stand for them. Such a filter inode lies in the root
// and has an absolute `fullname`, <base>/<sandbox id>/<ro|rw>/<name>, which the loader opens as it
// stands. A clone has another sandbox id, and its state still names the directory of its source: that
// is gone, or it is another sandbox's.
#include <algorithm>

#include "verdict/mount_paths.h"
#include "verdict/rules.h"

namespace vfsmend {
namespace {

// What stays of a bind's path when the sandbox is another: "rw/hostdir-0". Empty where it is no such
// path.
std::string_view access_and_name(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::size_t name = path.rfind('/');
  if (name == std::string_view::npos || name == 0 || name + 1 == path.size()) return {};
  const std::size_t access = path.rfind('/', name - 1);
  if (access == std::string_view::npos) return {};
  const std::string_view is = path.substr(access + 1, name - access - 1);
  return is == "ro" || is == "rw" ? path.substr(access + 1) : std::string_view();
}

}  // namespace

// The inode of an allowed_dir that cannot be opened.
bool Rules::is_missing_bind(EntryIndex e) const {
  const auto* path = location_as<Path>(inode(e));
  if (!path || !path->fullname.starts_with('/')) return false;
  const std::string_view name = effective_name(*path, in_.destination);
  return std::ranges::any_of(in_.share.allowed, [&](const AllowedDir& dir) {
    return dir.err != 0 && dir.given == name;
  });
}

// The one allowed_dir of today that has the place of this filter inode: the same name, and the same
// access, since a read-only directory must not become a writable one. Nothing where the inode is at
// one of them already, where none fits or more than one, where another inode is there, or where it cannot
// be opened.
const AllowedDir* Rules::bind_of_today(EntryIndex e) const {
  const auto* path = location_as<Path>(inode(e));
  if (!path || path->parent != kRootId || !path->fullname.starts_with('/')) return nullptr;
  const std::string_view name = effective_name(*path, in_.destination);
  const std::string_view wanted = access_and_name(name);
  const AllowedDir* found = nullptr;
  for (const AllowedDir& dir : in_.share.allowed) {
    if (dir.given == name) return nullptr;
    if (wanted.empty() || access_and_name(dir.given) != wanted) continue;
    if (found) return nullptr;
    found = &dir;
  }
  return found && found->err == 0 && !bound_.contains(found->given) ? found : nullptr;
}

// The filter inode through which each was reached, itself included; a parent is taken before its
// children.
void Rules::find_binds() {
  bind_above_.assign(in_.state.inodes.size(), kNoIndex);
  if (in_.share.allowed.empty()) return;
  for (const EntryIndex e : in_.order.taken) {
    const auto* path = location_as<Path>(inode(e));
    const EntryIndex parent = in_.order.parent_entry[e];
    const bool is_filter = path && path->parent == kRootId && path->fullname.starts_with('/');
    if (is_filter) bound_.insert(effective_name(*path, in_.destination));
    bind_above_[e] = is_filter ? e : parent == kNoIndex ? kNoIndex : bind_above_[parent];
  }
}

// P001 of a filter inode whose own directory is there today, under another name.
void Rules::offer_bind(EntryIndex e, const AllowedDir& dir, Finding& f) const {
  f.message += "; the allowed directory of this sandbox is " + dir.given;
  f.before = {{"fullname", std::string(location_as<Path>(inode(e))->fullname)}};
  f.after = {{"path", "absent"}, {"allowed_dir", dir.given}};
  f.repair = Remedy{"rewrite the fullname in the state to " + dir.given, true, {}, Mend::kRewriteFullname,
                    dir.given};
}

// P004 of a filter inode: the directory of another sandbox. Its files may be what the guest had, or
// not: only who resumes it knows, and says --allow-rebind.
void Rules::offer_rebind(const AllowedDir& dir, const std::string& now, Finding& f) {
  f.message += "; the allowed directory of this sandbox is " + dir.given;
  f.after.emplace_back("allowed_dir", dir.given);
  f.repair = Remedy{"rewrite the fullname in the state to " + dir.given, false,
                    {"the guest goes on with the files of " + dir.given + ", and not those of " + now},
                    Mend::kRewriteFullname, dir.given};
  if (f.verdict == Verdict::kRebuild) {
    f.repair->action += ": with --allow-rebind, where that has the files the guest had";
    f.repair->mend = Mend::kNone;
  }
}

}  // namespace vfsmend
