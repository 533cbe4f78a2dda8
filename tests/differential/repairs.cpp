// SPDX-License-Identifier: Apache-2.0
#include "repairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "crash/poor_file_system.h"
#include "repair/apply.h"
#include "snapshot_file.h"

namespace vfsmend::differential {
namespace {

void nobody_listens(std::string_view) {}

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

class Trial {
 public:
  Trial(const RepairCase& given, CheckRequest check, const test::Lacks& lacks, const SnapshotFile& file,
        FileFacts before)
      : given_(given), has_links_(!lacks.links), changes_(lacks, sys::kernel_changes()), file_(file),
        before_(std::move(before)) {
    request_.check = std::move(check);
    request_.consent = Consent::kAll;
    request_.force = true;  // the daemons that load have the share open
  }

  Result<RepairOutcome> run() {
    const std::optional<RepairResult> first = repair("");
    if (!first) return std::move(out_);
    const bool resumes = first->after.verdict == Verdict::kResume;
    out_.planned = first->plan.has_steps();
    judge_plan(*first);
    if (!first->changed) {
      expect_untouched("no repair, and", before_, {});
      if (resumes && !given_.known_to_load) VFSMEND_TRY(load(before_.bytes));
      return std::move(out_);
    }
    VFSMEND_TRY_ASSIGN(const FileFacts repaired, file_.facts());
    judge_change(*first, repaired);
    // Before the load, which may change the share.
    const std::optional<RepairResult> second = repair("a second one: ");
    if (second && second->changed) wrong("a second one finds more to do");
    expect_untouched("after a second one", repaired, beside(*first));
    if (resumes) {
      out_.repaired = true;
      VFSMEND_TRY(load(repaired.bytes));
    }
    undo(first->journal);
    return std::move(out_);
  }

 private:
  void wrong(std::string what) { out_.wrong.push_back(std::move(what)); }

  std::optional<RepairResult> repair(std::string_view which) {
    auto result = repair_snapshot(sys::kernel(), changes_, request_, nobody_listens);
    if (!result) {
      wrong(fmt::format("{}{}", which, result.error().text));
      return std::nullopt;
    }
    if (!result->reason.empty()) wrong(fmt::format("{}{}", which, result->reason));
    return *std::move(result);
  }

  void judge_plan(const RepairResult& result) {
    for (const DevicePlan& plan : result.plan.devices) {
      if (plan.steps.empty() != (plan.after == plan.before)) wrong("steps and changes do not go together");
      if (!plan.host.work.empty()) wrong("it would change the share, and nobody recorded one");
      if (result.changed && plan.verdict != result.after.verdict) {
        wrong(fmt::format("planned for {}, and the check afterwards says {}", name_of(plan.verdict),
                          name_of(result.after.verdict)));
      }
    }
    const auto waits = [](const DevicePlan& plan) { return !plan.left.empty(); };
    if (result.after.verdict == Verdict::kRepair && std::ranges::none_of(result.plan.devices, waits)) {
      wrong("more is to be repaired, and nothing says what");
    }
    if (result.changed != result.plan.has_steps()) wrong("changes and a plan do not go together");
    if (result.changed && result.plan.before.verdict == Verdict::kResume) wrong("of what resumes, something is changed");
  }

  void judge_change(const RepairResult& result, const FileFacts& repaired) {
    if (repaired.bytes != result.plan.devices.front().after) wrong("the file has not got the state of the plan");
    if (const std::string lost = differing_looks(before_, repaired); !lost.empty()) {
      wrong(fmt::format("not on the new file as on the old one: {}", lost));
    }
    expect_beside("after it", beside(result));
  }

  static std::vector<std::string> beside(const RepairResult& result) {
    std::vector<std::string> names = {name_in(result.journal), name_in(result.kept)};
    std::sort(names.begin(), names.end());
    return names;
  }

  void expect_beside(std::string_view when, const std::vector<std::string>& names) {
    const std::vector<std::string> found = file_.others();
    if (found == names) return;
    wrong(fmt::format("{}: beside the file lies [{}], not [{}]", when, fmt::join(found, " "), fmt::join(names, " ")));
  }

  void expect_untouched(std::string_view when, const FileFacts& as, const std::vector<std::string>& names) {
    expect_beside(when, names);
    const auto now = file_.facts();
    const std::string differs = now ? differing(as, *now) : now.error().text;
    if (!differs.empty()) wrong(fmt::format("{}: not as it was: {}", when, differs));
  }

  Result<void> load(Bytes state) {
    VFSMEND_TRY_ASSIGN(const Seen seen, given_.load(state));
    if (seen.end != Seen::End::kLoaded) {
      wrong("resume, and the daemon: " + seen.log.load_error.value_or(seen.log.other));
    } else if (given_.check.on_error == OnError::kAbort &&
               (!seen.log.invalid_inodes.empty() || !seen.log.invalid_handles.empty())) {
      wrong("it loads, and something in it is dead");
    }
    return {};
  }

  void undo(const std::string& journal) {
    const auto undone = undo_repair(sys::kernel(), changes_, {journal}, nobody_listens);
    if (!undone) {
      wrong("undo: " + undone.error().text);
      return;
    }
    // What was kept is a copy where it could not be another name of the file.
    if (const auto now = file_.facts(); now && !has_links_) before_.ino = now->ino;
    expect_untouched("after undo", before_, {});
    out_.undone = true;
  }

  const RepairCase& given_;
  bool has_links_;
  test::PoorFileSystem changes_;
  const SnapshotFile& file_;
  FileFacts before_;
  RepairRequest request_;
  RepairOutcome out_;
};

}  // namespace

Result<RepairOutcome> try_repair(const RepairCase& given) {
  Dice dice = given.dice;
  test::Lacks lacks;
  lacks.links = dice.percent(20);
  lacks.tmpfile = lacks.links || dice.percent(20);
  if (dice.percent(20)) lacks.at_once = 64 + dice.roll(1000);
  VFSMEND_TRY_ASSIGN(const SnapshotFile file, SnapshotFile::make(given.folder, given.state, dice));
  VFSMEND_TRY_ASSIGN(FileFacts before, file.facts());
  CheckRequest check = given.check;
  check.snapshot_path = file.path();
  if (dice.percent(50)) check.profile.reset();  // what reads it is then told from the bytes
  return Trial(given, std::move(check), lacks, file, std::move(before)).run();
}

}  // namespace vfsmend::differential
