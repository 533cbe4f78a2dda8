// SPDX-License-Identifier: Apache-2.0
// Is this the share at all? Wrongly taking an unmounted share for a wrecked one would have a good
// sandbox destroyed, so what looks like "nothing is there" is answered with: look again.
#include <fmt/format.h>

#include <linux/openat2.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "sys/listing.h"
#include "verdict/rules.h"

namespace vfsmend {
namespace {

// So many names of one directory do not go missing one by one.
constexpr std::size_t kAllOfSoMany = 3;

Finding device_finding(Code code, std::string message, std::string action) {
  Finding f;
  f.code = code;
  f.verdict = Verdict::kIndeterminate;
  f.message = std::move(message);
  f.guest_sees = "nothing yet: do not resume, and do not destroy";
  f.repair = Remedy{std::move(action), false, {}};
  return f;
}

}  // namespace

void Rules::judge_share() {
  for (const AllowedDir& dir : in_.share.allowed) {
    if (dir.err == 0) continue;
    out_.add(Code::kR005, Verdict::kIndeterminate, [&] {
      Finding f = device_finding(
          Code::kR005,
          fmt::format("the bind target {} cannot be opened: {}. The loader fails before it reads "
                      "the state (InvalidServerConfig, not InvalidVirtioFsState)",
                      dir.given, errno_text(dir.err)),
          "bind it first, then check again");
      f.path = dir.given;
      return f;
    });
  }
  const std::string& given = in_.destination.shared_dir;
  const bool is_dir = in_.share.fd.valid() && S_ISDIR(in_.share.stat.stx_mode);
  if (!is_dir) {
    const std::string why = in_.share.fd.valid() ? "is not a directory"
                                                 : "cannot be opened: " + errno_text(in_.share.err);
    const int err = in_.share.err;
    const bool hung = err == EIO || err == ESTALE || err == ETIMEDOUT || err == ENOTCONN;
    const Code code = hung ? Code::kE001 : Code::kR001;
    out_.add(code, Verdict::kIndeterminate, [&] {
      Finding f = device_finding(code, fmt::format("the share {} {}", given, why),
                                 "mount the share there, then check again");
      f.path = given;
      return f;
    });
    return;
  }
  if (!input_.walk) return;
  for (const std::uint64_t id : input_.walk->dead_mount_paths) {
    out_.add(Code::kR004, Verdict::kIndeterminate, [&] {
      return device_finding(
          Code::kR004,
          fmt::format("the path of the source's mount {} cannot be opened below the share", id),
          "mount what was mounted there, then check again");
    });
  }
  judge_root_object();
  judge_mounts();
  // Where the share begins, and where CubeSandbox's binds begin.
  bool root_seen = !shadows_.empty();
  for (const EntryIndex e : in_.order.taken) {
    const Fate fate = node(e).fate;
    const bool there = fate == Fate::kFound || fate == Fate::kHandleDiffers;
    const auto* path = location_as<Path>(inode(e));
    const bool is_root = location_as<RootNode>(inode(e)) && !root_seen;
    if (there && (is_root || (path && path->fullname.starts_with('/')))) judge_anchor(e);
    root_seen = root_seen || is_root;
  }
  spread_shadows();
}

// R001 by what is missing. Handles that the loader cannot open at all say nothing about what is
// there; stale ones do.
void Rules::judge_anchor(EntryIndex anchor) {
  std::size_t expected = 0;
  std::size_t missing = 0;
  const auto look_at = [&](EntryIndex e) {
    const Node& n = node(e);
    ++expected;
    if ((n.fate == Fate::kOpenFailed && n.err == ENOENT && !n.left_share) ||
        (n.fate == Fate::kHandleOpenFailed && n.err == ESTALE)) {
      ++missing;
    }
  };
  for (const EntryIndex e : in_.index.children(in_.index.slot_of_entry(anchor))) {
    const auto* path = location_as<Path>(inode(e));
    if (path && path->fullname.starts_with('/')) continue;  // lies elsewhere: R005, P004
    if (in_.order.parent_entry[e] == anchor) look_at(e);
  }
  if (inode(anchor).id == kRootId) {
    for (const EntryIndex e : in_.order.taken) {
      if (location_as<HandleLocation>(inode(e))) look_at(e);
    }
  }
  const bool wrong_root = node(anchor).fate == Fate::kHandleDiffers;
  const bool suspicious = missing == expected && (expected > 0 || wrong_root);
  if (!suspicious) return;
  const bool empty = expected < kAllOfSoMany && directory_is_empty(anchor);
  if (expected < kAllOfSoMany && !empty) return;
  if (shadows_.empty() || shadows_.back() != anchor) shadows_.push_back(anchor);
  claim(anchor);
  const std::string dir = input_.texts.path_of(anchor).value_or(in_.destination.shared_dir);
  out_.add(Code::kR001, Verdict::kIndeterminate, [&] {
    Finding f = device_finding(
        Code::kR001,
        empty ? fmt::format("{} is empty, though the state names what is in it", dir)
              : fmt::format("{} has none of the {} names that the state has in it", dir, expected),
        "mount the share there (or name the right one), then check again");
    f.inode = inode(anchor).id;
    f.before = {{"names", std::to_string(expected)}};
    f.after = {{"names", "0"}};
    return f;
  });
}

// The one place where a directory is opened for reading: nothing else tells an empty one. It is the
// share's own root or a bind's, already seen to be a directory, and its access time stays.
bool Rules::directory_is_empty(EntryIndex anchor) const {
  const Node& n = node(anchor);
  if (n.text == kNoIndex) return false;
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_NO_MAGICLINKS;
  const sys::UniqueFd fd(
      in_.calls.openat2(AT_FDCWD, input_.walk->texts[n.text].c_str(), how));
  if (!fd.valid()) return true;  // cannot look: then it is not for us to say that it is there
  std::array<std::uint8_t, 4096> buffer;
  return sys::for_each_name(in_.calls, fd.get(), buffer, [](const char*, std::uint64_t) { return false; }) != 1;
}

// Below a directory that is not the one it should be, a missing name means nothing.
void Rules::spread_shadows() {
  if (shadows_.empty() && shadow_places_.empty()) return;
  in_shadow_.assign(in_.state.inodes.size(), false);
  const bool root = !shadows_.empty() && inode(shadows_.front()).id == kRootId;
  for (const EntryIndex e : in_.order.taken) {
    const EntryIndex parent = in_.order.parent_entry[e];
    in_shadow_[e] = parent == kNoIndex
                        ? root && location_as<HandleLocation>(inode(e))
                        : in_shadow_[parent] || std::ranges::find(shadows_, parent) != shadows_.end();
    if (!in_shadow_[e] && !shadow_places_.empty()) {
      const std::string path = input_.texts.name_path(e);
      in_shadow_[e] = std::ranges::find(shadow_places_, path) != shadow_places_.end();
    }
  }
}

}  // namespace vfsmend
