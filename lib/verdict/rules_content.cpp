// SPDX-License-Identifier: Apache-2.0
// Contents, in tiers: what neither ctime nor size nor policy makes doubtful is not read. The hash
// decides where there is one; where there is none, a size that changed is a content that changed.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "verdict/open_rules.h"
#include "verdict/rules.h"

namespace vfsmend {
namespace {

bool is_writable(const Handle& handle) {
  return (handle.flags & kOpenAccessMode) != 0 && (handle.flags & kOpenPath) == 0;
}

}  // namespace

void Rules::judge_contents() {
  if (record() == nullptr || input_.walk == nullptr) return;
  for (const EntryIndex e : in_.order.taken) {
    if (!claimed_[e] && !in_shadow(e) && recorded(e) != kNoIndex && changes(e) != 0) judge_content(e);
  }
  if (not_hashed_ > 0) {
    notes_.push_back(fmt::format("the contents of {} files whose ctime moved are the captured ones: they "
                                 "have no hash to compare with, and size and mtime are equal",
                                 not_hashed_));
  }
  if (over_budget_ > 0) {
    notes_.push_back(fmt::format("the contents of {} files are the captured ones: --hash-budget was used "
                                 "up before they could be compared", over_budget_));
  }
}

void Rules::judge_content(EntryIndex e) {
  const EntryTable& then = record()->section().entries;
  const std::uint32_t at = recorded(e);
  const std::uint16_t what = changes(e);
  if (!S_ISREG(then.mode[at])) return;
  const bool asked = must_match(Code::kC001, e) || rebound_;
  if ((what & (kOtherSize | kOtherMtime | kOtherCtime | kUncertain)) == 0 && !asked) return;
  const Today* now = today(e);
  const std::uint64_t size_now = now ? now->facts.size : then.size[at];
  const bool shrunk = size_now < then.size[at];
  const Content content =
      shrunk ? Content::kDiffers : compare_content(e, size_now);
  if (content == Content::kSame) {
    if ((what & kOtherMtime) != 0) tell_times(e);
    return;
  }
  const bool moved = (what & (kOtherSize | kOtherMtime)) != 0;
  if (!moved && !asked && content == Content::kNotKnown) {
    not_hashed_ += (what & kOtherCtime) != 0 ? 1 : 0;
    return;
  }
  if (!moved && !asked && content == Content::kOverBudget) {
    ++over_budget_;
    return;
  }
  tell_content(e, content, size_now);
}

Rules::Content Rules::compare_content(EntryIndex e, std::uint64_t size_now) {
  const EntryTable& then = record()->section().entries;
  const std::uint32_t at = recorded(e);
  if ((then.notes[at] & kHasHash) == 0 || then.hash.empty()) {
    return size_now != then.size[at] && !is_open(e) ? Content::kDiffers : Content::kNotKnown;
  }
  const std::uint64_t size = then.size[at];
  if (size > hash_budget_) return Content::kOverBudget;
  hash_budget_ -= size;
  const std::string path = input_.texts.name_path(e);
  const sys::UniqueFd found(open_path(in_.calls, in_.share.fd.get(), path.c_str(), Leave::kNever, false));
  struct statx stat{};
  if (!found.valid() || in_.calls.statx(found.get(), "", AT_EMPTY_PATH, kObjectMask, stat) < 0 ||
      !S_ISREG(stat.stx_mode)) {
    return Content::kNotKnown;
  }
  const sys::UniqueFd fd(open_content(in_.calls, found.get(), ""));
  if (!fd.valid()) return Content::kNotKnown;
  const auto hash = hash_content(in_.calls, fd.get(), size);
  if (!hash) return hash.error().code == ErrorCode::kFormat ? Content::kDiffers : Content::kNotKnown;
  if (*hash != then.hash[at]) return Content::kDiffers;
  return size_now > size ? Content::kAppended : Content::kSame;
}

// The guest writes at the end wherever that is, and reads what is there.
bool Rules::only_appends(EntryIndex e) const {
  bool appends = false;
  for (const std::uint32_t i : handles_on(in_.index.slot_of_entry(e))) {
    const Handle& handle = in_.state.handles[i];
    const bool append = (handle.flags & kOpenAppend) != 0;
    if (is_writable(handle) && !append) return false;
    appends = appends || append;
  }
  return appends;
}

Verdict Rules::content_verdict(EntryIndex e, Content content) const {
  if (content == Content::kAppended) {
    const auto action = policy_for(Code::kC001, input_.texts, e);
    if (only_appends(e) || action == PolicyAction::kAppendOk) return Verdict::kResume;
  }
  if (content == Content::kOverBudget) return Verdict::kIndeterminate;
  if (is_open(e) || rebound_ || must_match(Code::kC001, e)) return Verdict::kRebuild;
  // A guest that asks for the attributes again sees the new bytes; one that does not, keeps its own.
  const std::string& cache = in_.destination.cache;
  return cache == "always" || cache == "metadata" ? Verdict::kRebuild : Verdict::kResume;
}

void Rules::tell_content(EntryIndex e, Content content, std::uint64_t size_now) {
  const EntryTable& then = record()->section().entries;
  const std::uint32_t at = recorded(e);
  const bool short_of_open = size_now < then.size[at] && is_open(e);
  const Code code = short_of_open ? Code::kC002 : Code::kC001;
  const Verdict verdict = short_of_open ? Verdict::kRebuild : content_verdict(e, content);
  tell(code, verdict, e, [&](Finding& f) {
    f.before = {{"size", std::to_string(then.size[at])}};
    f.after = {{"size", std::to_string(size_now)}};
    switch (content) {
      case Content::kAppended:
        f.message = fmt::format("{} bytes were appended; those of the capture are unchanged",
                                size_now - then.size[at]);
        break;
      case Content::kOverBudget:
        f.message = "it was written to, and --hash-budget was used up before it could be compared";
        break;
      case Content::kNotKnown:
        f.message = "it was written to since the capture, or only touched: no hash tells";
        break;
      default:
        f.message = short_of_open ? fmt::format("{} bytes shorter than at the capture, and open",
                                                then.size[at] - size_now)
                                  : "its content is not that of the capture";
    }
    f.guest_sees = short_of_open ? "SIGBUS in a mapping, and holes where it writes"
                   : f.open      ? "a mixture of old and new bytes"
                   : verdict == Verdict::kResume ? "the new bytes"
                                                 : "old bytes, as long as they are cached";
  });
}

void Rules::tell_times(EntryIndex e) {
  const EntryTable& then = record()->section().entries;
  times_told_[e] = true;
  tell(Code::kM005, Verdict::kRepair, e, [&](Finding& f) {
    const auto text = [](std::int64_t ns) {
      constexpr std::int64_t kSecond = 1'000'000'000;
      return fmt::format("{}.{:09}", ns / kSecond - (ns % kSecond < 0 ? 1 : 0),
                         (ns % kSecond + kSecond) % kSecond);
    };
    f.before = {{"mtime", text(then.mtime[recorded(e)])}};
    f.after = {{"mtime", text(today(e)->facts.mtime)}};
    f.message = "the bytes are those of the capture, and the modification time is not";
    f.guest_sees = "build tools build it again";
    f.repair = Remedy{"set the times to the nanosecond; the ctime cannot come back", true, {},
                      Mend::kHostTimes};
    f.repair->recorded = recorded(e);
  });
}

}  // namespace vfsmend
