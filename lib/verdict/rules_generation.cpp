// SPDX-License-Identifier: Apache-2.0
// Do state and record belong together, and what does time do to them?
#include <fmt/format.h>

#include <algorithm>

#include "manifest/capture.h"
#include "verdict/rules.h"

namespace vfsmend {
namespace {

// A guest's clock stands still while it is paused; less than this is nobody's trouble.
constexpr std::int64_t kClockSlack = 60'000'000'000;  // ns

}  // namespace

void Rules::judge_generation() {
  if (in_.record == nullptr) return;
  finder_.emplace(in_.calls, in_.share, *in_.record, input_.options->search);
  hash_budget_ = input_.options->hash_budget;
  times_told_.resize(in_.state.inodes.size());
  const Facts& facts = input_.options->manifest->facts;
  std::string why;
  const auto compare = [&](const char* key, const std::string& now) {
    const std::string_view then = fact(facts, key);
    if (now.empty() || then.empty() || now == then) return;
    why = fmt::format("the manifest is of {} {}, and this is {}", key, then, now);
  };
  compare("snapshot-id", input_.options->snapshot_id);
  compare("sandbox-id", input_.options->sandbox_id);
  if (why.empty() && !input_.recorded_state) {
    const bool opened_since = std::ranges::any_of(in_.state.handles, [&](const Handle& handle) {
      const EntryIndex e = in_.index.first_entry(handle.inode);
      const std::uint32_t at = e == kNoIndex ? kNoIndex : in_.record->position(e);
      return at != kNoIndex && (in_.record->section().entries.notes[at] & kOpen) == 0;
    });
    if (in_.record->unknown_inodes() > 0) {
      why = fmt::format("the state names {} inodes that the manifest does not know",
                        in_.record->unknown_inodes());
    } else if (opened_since) {
      why = "the state has files open that were not open at the capture";
    } else {
      notes_.emplace_back("the state is not to the byte the captured one, as after a repair: all that "
                          "it names was captured");
    }
  }
  if (why.empty()) return;
  other_generation_ = true;
  out_.add(Code::kG001, Verdict::kRebuild, [&] {
    Finding f;
    f.code = Code::kG001;
    f.verdict = Verdict::kRebuild;
    f.message = why + ": they were not taken together";
    f.guest_sees = "another generation of its files";
    return f;
  });
}

void Rules::judge_hints() {
  if (record() == nullptr || input_.walk == nullptr) return;
  const std::int64_t clock = record()->captured_at() + kClockSlack;
  std::uint64_t newer = 0;
  EntryIndex first = kNoIndex;
  for (const EntryIndex e : in_.order.taken) {
    if (recorded(e) == kNoIndex || times_told_[e] || in_shadow(e)) continue;
    // One that was newer than the clock before the pause is no news to the guest.
    if ((changes(e) & kOtherMtime) == 0 || today(e)->facts.mtime <= clock) continue;
    ++newer;
    if (first == kNoIndex) first = e;
  }
  if (newer > 0) {
    tell(Code::kT001, Verdict::kResume, first, [&](Finding& f) {
      f.message = fmt::format("the guest's clock stands where it was at the capture, and {} of its "
                              "files are newer: set the clock right after the resume", newer);
      f.guest_sees = "files from the future: build tools warn, or build everything again";
    });
  }
  const std::string_view locks = fact(record()->section().facts, "locks");
  if (locks.empty() || locks == "0") return;
  out_.add(Code::kL001, Verdict::kResume, [&] {
    Finding f;
    f.code = Code::kL001;
    f.verdict = Verdict::kResume;
    f.message = fmt::format("the daemon held {} file locks on the host at the capture: they are not "
                            "restored", locks);
    f.guest_sees = "nothing: it takes the locks for held";
    return f;
  });
}

}  // namespace vfsmend
