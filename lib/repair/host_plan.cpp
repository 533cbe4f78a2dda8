// SPDX-License-Identifier: Apache-2.0
#include "repair/host_plan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/text.h"
#include "sys/read_file.h"
#include "verdict/record.h"

namespace vfsmend {
namespace {

constexpr std::uint32_t kPermissions = 07777;

// Labels stay as they are: they are the host's policy, not the capture's.
sys::Xattrs wanted_xattrs(const XattrSet& recorded, const sys::Xattrs& now) {
  sys::Xattrs out;
  std::ranges::copy_if(recorded, std::back_inserter(out), [](const auto& x) { return !is_label(x.first); });
  std::ranges::copy_if(now, std::back_inserter(out), [](const auto& x) { return is_label(x.first); });
  std::ranges::sort(out);
  return out;
}

void want(const Finding& finding, const ManifestSection& section, HostStep& step) {
  const EntryTable& e = section.entries;
  const std::uint32_t at = finding.repair->recorded;
  switch (finding.repair->mend) {
    case Mend::kHostMode: step.after.mode = e.mode[at] & kPermissions; break;
    case Mend::kHostOwner:
      step.after.uid = e.uid[at];
      step.after.gid = e.gid[at];
      break;
    case Mend::kHostXattrs:
      step.after.xattrs = wanted_xattrs(section.xattr_sets[e.xattrs[at]], step.before.xattrs);
      break;
    case Mend::kHostTimes: step.after.mtime = e.mtime[at]; break;
    default: break;
  }
}

}  // namespace

Result<sys::UniqueFd> open_kept(sys::Calls& calls, int directory, const HiddenFile& kept) {
  const std::string file = printable(kept.file);
  sys::UniqueFd fd(open_content(calls, directory, name_of_kept(kept).c_str()));
  if (!fd.valid()) return fail_errno(-fd.get(), file);
  struct statx stat{};
  if (const int err = calls.statx(fd.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, stat); err < 0) {
    return fail_errno(-err, file);
  }
  const bool others = stat.stx_uid != 0 || (stat.stx_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (!S_ISREG(stat.stx_mode) || others) {
    return fail(ErrorCode::kSystem, file + ": not a file that root alone can write");
  }
  const bool same_size = stat.stx_size == kept.size;
  const Result<ContentHash> hash = same_size ? hash_content(calls, fd.get(), kept.size) : ContentHash{};
  if (!hash) return tl::make_unexpected(Error(hash.error()).context(file));
  if (!same_size || *hash != kept.hash) {
    return fail(ErrorCode::kSystem, file + ": not the bytes that the capture kept");
  }
  return fd;
}

Result<void> HostPlanner::find_share() {
  if (plan_.share.valid()) return {};
  Share share = open_share(in_.calls, in_.destination);
  if (!share.fd.valid()) return fail_errno(share.err, printable(in_.destination.shared_dir));
  plan_.share = std::move(share.fd);
  plan_.share_path = share.real_path;
  plan_.work.share_mtime = facts_of(share.stat).mtime;
  return {};
}

std::uint32_t HostPlanner::recorded_names(std::uint32_t position) {
  const EntryTable& e = in_.recorded->entries;
  if (names_.empty()) {
    for (std::uint32_t i = 0; i < e.size_of(); ++i) ++names_[{e.device[i], e.ino[i]}];
  }
  const auto at = names_.find({e.device[position], e.ino[position]});
  return at == names_.end() ? 0 : at->second;
}

void HostPlanner::see(const State& state) {
  bound_.clear();
  if (in_.destination.reader != Reader::kCube) return;
  for (const Inode& inode : state.inodes) {
    const auto* path = location_as<Path>(inode);
    if (path == nullptr) continue;
    const bool bind = path->fullname.starts_with('/');
    bound_[inode.id] = {std::string(bind ? path->fullname : ""), std::string(path->filename), path->parent};
  }
}

// CubeSandbox opens an absolute fullname instead of the name in its parent.
std::string HostPlanner::place_of(const Finding& finding) const {
  std::string below;
  NodeId node = finding.inode.value_or(0);
  for (std::size_t steps = 0; steps <= bound_.size(); ++steps) {
    const auto at = bound_.find(node);
    if (at == bound_.end()) break;
    if (!at->second.at.empty()) return at->second.at + below;
    below.insert(0, "/" + at->second.name);
    node = at->second.parent;
  }
  return finding.path;
}

Result<HostStep*> HostPlanner::step_of(const Finding& finding) {
  if (const auto known = by_path_.find(finding.path); known != by_path_.end()) {
    return &plan_.work.steps[known->second];
  }
  VFSMEND_TRY(find_share());
  const std::string place = place_of(finding);
  VFSMEND_TRY_ASSIGN(const OpenObject object, open_object(in_.calls, plan_.share.get(), place));
  LazyHandle handle(in_.calls, object.fd.get(), "", AT_EMPTY_PATH);
  Today today;
  const std::uint32_t at = finding.repair->recorded;
  const MountKinds kinds(*in_.recorded);
  if ((identity_changes(*in_.recorded, kinds, at, object.all, handle, today) & (kOtherObject | kOtherType)) != 0) {
    return fail(ErrorCode::kSystem, "it is not the object that was captured");
  }
  const std::uint32_t names = recorded_names(at);
  if (!S_ISDIR(object.all.mode) && object.all.nlink > names) {
    return fail(ErrorCode::kSystem,
                fmt::format("it has {} names, and the capture knows {} of them: another may lie outside "
                            "of the share (capture --tree records all that lie in it)",
                            object.all.nlink, names));
  }
  by_path_[finding.path] = plan_.work.steps.size();
  plan_.work.steps.push_back({place, object.identity, object.facts, object.facts});
  return &plan_.work.steps.back();
}

std::string HostPlanner::add(const Finding& finding) {
  const RecordOptions& options = *in_.options;
  if (options.state_only) return "--state-only";
  if (!options.distrust.empty()) {
    return fmt::format("the manifest {} is {}: nothing on the host is changed by it",
                       printable(options.manifest_path), options.distrust);
  }
  if (finding.repair->needs == Switch::kPrivileges && !options.allow_privileges) {
    return "it needs --allow-privileges";
  }
  if (finding.repair->mend == Mend::kKeptBytes) return add_hidden(finding);
  const Result<HostStep*> step = step_of(finding);
  if (!step) return step.error().text;
  want(finding, *in_.recorded, **step);
  return "";
}

void HostPlanner::describe(const Finding& finding, std::string& precondition, std::string& inverse) const {
  if (finding.repair->mend == Mend::kKeptBytes) {
    const HiddenStep& step = plan_.work.hidden.back();
    precondition = fmt::format("{} holds the {} kept bytes, and the share has no {}", printable(step.file.file),
                               step.file.size, step.file.hidden_name);
    inverse = "remove it";
    return;
  }
  const auto at = by_path_.find(finding.path);
  if (at == by_path_.end()) return;
  const HostStep& step = plan_.work.steps[at->second];
  const HostFacts& is = step.before;
  precondition = fmt::format("object {} with mode {:04o}, owner {}:{}, {} attributes, mtime {}", step.identity.ino,
                             is.mode, is.uid, is.gid, is.xattrs.size(), is.mtime);
  switch (finding.repair->mend) {
    case Mend::kHostMode: inverse = fmt::format("chmod {:04o}", is.mode); break;
    case Mend::kHostOwner: inverse = fmt::format("chown {}:{}", is.uid, is.gid); break;
    case Mend::kHostXattrs: inverse = "the attributes of now"; break;
    default: inverse = fmt::format("set the mtime to {} ns", is.mtime); break;
  }
}

std::string HostPlanner::add_hidden(const Finding& finding) {
  const auto file = finding.inode ? hidden_file(*in_.recorded, in_.options->manifest_path, *finding.inode)
                                  : std::nullopt;
  if (!file) return "the manifest does not say which file it is";
  const int directory = in_.options->manifest_directory;
  if (const auto kept = open_kept(in_.calls, directory, *file); !kept) return kept.error().text;
  if (const auto found = find_share(); !found) return found.error().text;
  if (!plan_.kept.valid()) {
    // The check closes its own before the plan is carried out.
    auto held = sys::locate(in_.calls, directory, ".");
    if (!held) return fmt::format("{}: {}", printable(file->file), held.error().text);
    plan_.kept = std::move(held->fd);
  }
  plan_.work.hidden.push_back({*finding.inode, *file});
  return "";
}

}  // namespace vfsmend
