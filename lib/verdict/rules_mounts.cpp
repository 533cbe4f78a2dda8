// SPDX-License-Identifier: Apache-2.0
// The share and the mounts in it, against the record: is it the same directory, on the same file
// system, with the same access?
#include <fmt/format.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstring>

#include "manifest/capture.h"
#include "verdict/rules.h"

namespace vfsmend {
namespace {

// How far below its mount point a directory lies: "" where it is one, "/data" else.
std::string below_mount_point(std::string_view directory, std::string_view mount_point) {
  if (mount_point == "/" || !is_below(directory, mount_point)) return std::string(directory);
  return std::string(directory.substr(mount_point.size()));
}

std::string_view access_of(bool read_only) { return read_only ? "read-only" : "writable"; }

std::string at_place(const std::string& place) {
  return place.empty() ? "the share" : "the mount at " + place;
}

}  // namespace

// R002, or R001 where what was mounted is not: a shadow directory may have all the names. I003
// where only numbers changed.
void Rules::judge_root_object() {
  const EntryIndex root = in_.index.first_entry(kRootId);
  if (root == kNoIndex || recorded(root) == kNoIndex) return;
  const ManifestSection& then = record()->section();
  const std::uint16_t what = changes(root);
  if ((what & kOtherObject) == 0) {
    if ((what & kOtherDevice) == 0) return;
    const bool stores_handles = std::ranges::any_of(in_.state.inodes, [](const Inode& i) {
      return i.file_handle || location_as<HandleLocation>(i);
    });
    tell(Code::kI003, Verdict::kResume, root, [&](Finding& f) {
      f.message = "the share is the same, on a file system with other numbers: mounted again";
      f.before = {{"device", std::to_string(then.devices[then.entries.device[0]])}};
      f.after = {{"device", std::to_string(today(root)->facts.device)}};
      f.guest_sees = "nothing";
      if (stores_handles) f.repair = Remedy{"strip the stored handles from the state", true, {}, Mend::kStripHandles};
    });
    return;
  }
  struct statfs fs{};
  std::uint64_t fs_id = 0;
  const bool asked = in_.calls.fstatfs(in_.share.fd.get(), fs) == 0;
  std::memcpy(&fs_id, &fs.f_fsid, sizeof fs_id);
  const bool other_fs = asked && (what & kOtherDevice) != 0 &&
                        (static_cast<std::uint64_t>(fs.f_type) != then.fs_magic || fs_id != then.fs_id);
  const auto mount = in_.share.mounts.find(in_.share.stat.stx_mnt_id);
  const std::string_view mount_point = fact(then.facts, "mount-point");
  const bool unmounted =
      mount != in_.share.mounts.end() && !mount_point.empty() &&
      below_mount_point(then.real_share, mount_point) !=
          below_mount_point(in_.share.real_path, mount->second.mount_point);
  rebound_ = input_.options->allow_rebind;
  const bool not_mounted = (unmounted || other_fs) && !rebound_;
  if (!rebound_) {  // what lies below it says nothing about the captured objects
    claim(root);
    shadows_.push_back(root);
  }
  const Code code = not_mounted ? Code::kR001 : Code::kR002;
  const Verdict verdict = not_mounted ? Verdict::kIndeterminate
                          : rebound_  ? Verdict::kResume
                                      : Verdict::kRebuild;
  tell(code, verdict, root, [&](Finding& f) {
    f.before = {{"inode", std::to_string(then.entries.ino[0])}, {"mount_point", std::string(mount_point)}};
    f.after = {{"inode", std::to_string(today(root)->facts.ino)}};
    if (mount != in_.share.mounts.end()) f.after.emplace_back("mount_point", mount->second.mount_point);
    if (not_mounted) {
      tell_not_mounted(f, unmounted, mount_point);
      return;
    }
    f.message = "the share is another directory than at the capture, as after a copy";
    f.guest_sees = "other objects under the same names: open files and hard links are not the same";
    f.repair = Remedy{rebound_ ? "strip the stored handles from the state, if it has any"
                               : "put the original back; or, if this is a copy that shall be taken for "
                                 "it, check with --allow-rebind (contents are compared by their "
                                 "hashes), and strip the stored handles from the state",
                      false, {}};
  });
}

// Where the same mount is looked at, it is the path that is another one: nothing was unmounted.
void Rules::tell_not_mounted(Finding& f, bool unmounted, std::string_view mount_point) const {
  const auto now = in_.share.mounts.find(in_.share.stat.stx_mnt_id);
  const bool elsewhere = unmounted && now->second.mount_point == mount_point;
  f.message = elsewhere   ? "another directory than the one that was captured, of the same mount"
              : unmounted ? "what was mounted at the capture is not: this is the directory below it"
                          : "another file system is mounted there than at the capture";
  f.guest_sees = "nothing yet: do not resume, and do not destroy";
  f.repair = Remedy{elsewhere ? "name the directory that was captured; or, if this is a copy that shall be taken "
                                "for it, check with --allow-rebind (contents are compared by their hashes)"
                              : "mount the share as it was, then check again",
                    false, {}};
}

void Rules::tell_mount(Code code, Verdict verdict, const std::string& place, std::string message,
                       std::string sees, std::optional<Remedy> remedy) {
  const auto action = input_.options->policy.action(code, place);
  if (action == PolicyAction::kIgnore) return;
  if (action == PolicyAction::kWarn) verdict = Verdict::kResume;
  if (action == PolicyAction::kMustMatch) verdict = worst(verdict, Verdict::kRebuild);
  out_.add(code, verdict, [&] {
    Finding f;
    f.code = code;
    f.verdict = verdict;
    f.path = place;
    f.message = std::move(message);
    f.guest_sees = std::move(sees);
    f.repair = std::move(remedy);
    return f;
  });
}

void Rules::judge_mounts() {
  if (record() == nullptr || !shadows_.empty()) return;
  for (const ManifestMount& mount : record()->section().mounts) judge_mount(mount);
  judge_added_mounts();
}

void Rules::judge_mount(const ManifestMount& mount) {
  struct statx stat{};
  const sys::UniqueFd fd(open_path(in_.calls, in_.share.fd.get(),
                                   mount.place.empty() ? "." : mount.place.c_str(), Leave::kNever, false));
  const bool there = fd.valid() && in_.calls.statx(fd.get(), "", AT_EMPTY_PATH,
                                                   STATX_BASIC_STATS | STATX_MNT_ID, stat) == 0;
  const bool is_root = there && (stat.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  const auto now = there ? in_.share.mounts.find(stat.stx_mnt_id) : in_.share.mounts.end();
  if (mount.place.empty()) {
    if (now != in_.share.mounts.end()) judge_access(mount, now->second);
    return;
  }
  const auto lost = [&](std::string message) {
    shadow_places_.push_back(mount.place);
    tell_mount(Code::kR004, Verdict::kIndeterminate, mount.place, std::move(message),
               "nothing yet: do not resume, and do not destroy",
               Remedy{fmt::format("mount {} ({}) there, then check again", mount.source, mount.fs_type),
                      false, {}});
  };
  if (!is_root || now == in_.share.mounts.end()) {
    lost(fmt::format("nothing is mounted at {}, where {} was at the capture", mount.place, mount.fs_type));
    return;
  }
  std::uint32_t at = 0;
  for (std::string_view rest = mount.place; at != kNoIndex && !rest.empty();) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    at = record()->find(at, rest.substr(0, slash));
    rest.remove_prefix(std::min(slash + 1, rest.size()));
  }
  if (at != kNoIndex && record()->is_known(at) && !finder_->is_at(at, mount.place)) {
    lost(fmt::format("another file system is mounted at {} than at the capture", mount.place));
    return;
  }
  judge_access(mount, now->second);
}

// R003. What cannot be written to since its file system is read-only counts like a read-only mount.
void Rules::judge_access(const ManifestMount& mount, const sys::Mount& now) {
  const bool was = mount.read_only || mount.super_read_only;
  const bool is = now.mount_read_only || now.super_read_only;
  if (was == is) return;
  const Verdict verdict =
      was && !input_.options->allow_remount ? Verdict::kRebuild : Verdict::kRepair;
  tell_mount(Code::kR003, verdict, mount.place,
             fmt::format("{} was {} at the capture, and is {} now", at_place(mount.place), access_of(was),
                         access_of(is)),
             was ? "access that it never had: it can write there now" : "EROFS when it writes",
             Remedy{fmt::format("remount it {}", access_of(was)), false, {}});
}

void Rules::judge_added_mounts() {
  for (const auto& [id, mount] : in_.share.mounts) {
    const std::string& real = in_.share.real_path;
    if (!is_below(mount.mount_point, real) || mount.mount_point == real) continue;
    const std::string place = mount.mount_point.substr(real == "/" ? 1 : real.size() + 1);
    const auto& known = record()->section().mounts;
    if (std::ranges::find(known, place, &ManifestMount::place) != known.end()) continue;
    struct statx stat{};
    const sys::UniqueFd fd(open_path(in_.calls, in_.share.fd.get(), place.c_str(), Leave::kNever, false));
    // One below another is not seen by anybody.
    if (!fd.valid() || in_.calls.statx(fd.get(), "", AT_EMPTY_PATH, STATX_MNT_ID, stat) < 0 ||
        stat.stx_mnt_id != id) {
      continue;
    }
    shadow_places_.push_back(place);
    tell_mount(Code::kR004, Verdict::kIndeterminate, place,
               fmt::format("{} is mounted at {}, where nothing was at the capture", mount.fs_type, place),
               "nothing yet: what it knew there is hidden by the mount",
               Remedy{"unmount it, then check again", false, {}});
  }
}

}  // namespace vfsmend
