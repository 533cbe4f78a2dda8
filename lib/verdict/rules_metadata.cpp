// SPDX-License-Identifier: Apache-2.0
// Mode, owner and attributes against the record. What gives privileges is told, and put back only
// on request.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/text.h"
#include "verdict/rules.h"

namespace vfsmend {
namespace {

constexpr std::uint32_t kPermissions = 07777;
constexpr std::uint32_t kPrivileges = S_ISUID | S_ISGID;

const std::string* value_of(const XattrSet& set, const std::string& name) {
  const auto at = std::ranges::find(set, name, &std::pair<std::string, std::string>::first);
  return at == set.end() ? nullptr : &at->second;
}

// Names of attributes (labels, or all others) that are not the same in both.
std::vector<std::string> differing(const XattrSet& then, const XattrSet& now, bool labels) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& name) {
    if (is_label(name) == labels && std::ranges::find(out, name) == out.end()) out.push_back(name);
  };
  for (const auto& [name, value] : then) {
    const std::string* other = value_of(now, name);
    if (other == nullptr || *other != value) add(name);
  }
  for (const auto& [name, value] : now) {
    if (value_of(then, name) == nullptr) add(name);
  }
  return out;
}

// A long value from where it differs from the `other` on: its beginning may be the same.
std::string shown(const std::string* value, const std::string* other) {
  constexpr std::size_t kLongest = 64;
  if (value == nullptr) return "absent";
  if (value->size() <= kLongest) return spaced_hex(as_bytes(*value));
  const std::size_t same = other == nullptr ? 0 : std::ranges::mismatch(*value, *other).in1 - value->begin();
  return fmt::format("{} bytes, from {} on: {}", value->size(), same,
                     spaced_hex(as_bytes(value->substr(same, kLongest))));
}

}  // namespace

void Rules::judge_metadata() {
  if (record() == nullptr || input_.walk == nullptr) return;
  for (const Today& now : input_.walk->today) {
    const EntryIndex e = now.entry;
    const std::uint16_t what = changes(e);
    if (claimed_[e] || in_shadow(e) || recorded(e) == kNoIndex) continue;
    if ((what & kOtherMode) != 0) judge_mode(e, now);
    if ((what & kOtherOwner) != 0) judge_owner(e, now);
    if ((what & (kOtherXattrs | kOtherLabel)) != 0) judge_xattrs(e, now);
  }
}

void Rules::judge_mode(EntryIndex e, const Today& now) {
  const std::uint32_t was = record()->section().entries.mode[recorded(e)] & kPermissions;
  const std::uint32_t is = now.facts.mode & kPermissions;
  tell(Code::kM001, Verdict::kRepair, e, [&](Finding& f) {
    f.before = {{"mode", fmt::format("{:04o}", was)}};
    f.after = {{"mode", fmt::format("{:04o}", is)}};
    f.message = fmt::format("mode {:04o} at the capture, {:04o} now", was, is);
    f.guest_sees = (was & ~is) != 0 ? "EACCES at the next open" : "wider access than it was given";
    const bool privileged = (was & ~is & kPrivileges) != 0;
    f.repair = Remedy{privileged ? fmt::format("chmod {:04o}, with --allow-privileges (setuid, setgid)", was)
                                 : fmt::format("chmod {:04o}", was),
                      !privileged, {}, Mend::kHostMode};
    f.repair->recorded = recorded(e);
    if (privileged) f.repair->needs = Switch::kPrivileges;
  });
}

void Rules::judge_owner(EntryIndex e, const Today& now) {
  const EntryTable& then = record()->section().entries;
  const std::uint32_t at = recorded(e);
  const std::string was = fmt::format("{}:{}", then.uid[at], then.gid[at]);
  const std::string is = fmt::format("{}:{}", now.facts.uid, now.facts.gid);
  tell(Code::kM002, Verdict::kRepair, e, [&](Finding& f) {
    f.before = {{"owner", was}};
    f.after = {{"owner", is}};
    f.message = fmt::format("owner {} at the capture, {} now", was, is);
    f.guest_sees = "access refused, or given to others";
    // The kernel takes both away with the owner: to put them back gives them to another.
    const bool privileged =
        (then.mode[at] & kPrivileges) != 0 ||
        value_of(record()->section().xattr_sets[then.xattrs[at]], "security.capability") != nullptr;
    f.repair = Remedy{fmt::format("chown {}, then mode and attributes again{}", was,
                                  privileged ? ", with --allow-privileges (setuid, setgid, capabilities)" : ""),
                      !privileged, {}, Mend::kHostOwner};
    f.repair->recorded = at;
    if (privileged) f.repair->needs = Switch::kPrivileges;
  });
}

void Rules::judge_xattrs(EntryIndex e, const Today& now) {
  const ManifestSection& section = record()->section();
  const XattrSet& then = section.xattr_sets[section.entries.xattrs[recorded(e)]];
  for (const bool labels : {false, true}) {
    const std::vector<std::string> names = differing(then, now.xattrs, labels);
    if (names.empty()) continue;
    // To take one away that was not there gives nothing to anybody.
    const bool privileged = std::ranges::find(names, "security.capability") != names.end() &&
                            value_of(then, "security.capability") != nullptr;
    tell(labels ? Code::kM004 : Code::kM003, Verdict::kRepair, e, [&](Finding& f) {
      for (const std::string& name : names) {
        const std::string* const was = value_of(then, name);
        const std::string* const is = value_of(now.xattrs, name);
        f.before.emplace_back(name, shown(was, is));
        f.after.emplace_back(name, shown(is, was));
      }
      f.message = fmt::format("not as at the capture: {}", fmt::join(names, ", "));
      f.guest_sees = labels ? "refusals by the host's access control" : "access refused, or given to others";
      f.repair = labels       ? Remedy{"relabel by the host's policy", false, {}}
                 : privileged ? Remedy{"put it back, with --allow-privileges (capabilities)", false, {},
                                       Mend::kHostXattrs}
                              : Remedy{"put it back", true, {}, Mend::kHostXattrs};
      f.repair->recorded = recorded(e);
      if (privileged) f.repair->needs = Switch::kPrivileges;
    });
  }
}

}  // namespace vfsmend
