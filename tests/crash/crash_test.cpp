// SPDX-License-Identifier: Apache-2.0
// A power cut at any moment of a repair or of its undoing leaves the original or the repaired file,
// and whatever it leaves can be undone, and repaired again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "cases.h"
#include "power_cuts.h"
#include "recording_changes.h"

namespace vfsmend::test {
namespace {

class PowerCut : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "a repair needs root";
  }

  void put(const Disk& disk) const { put_disk(disk, sample_.folder()); }

  // A change of the snapshot by `work`, and each disk that a power cut in it may leave.
  template <typename Work>
  PowerCuts cuts_of(Work work) {
    PoorFileSystem poor(GetParam().lacks);
    RecordingChanges recording(sample_.folder(), poor);
    work(recording);
    start_ = recording.start();
    log_ = recording.log();
    return power_cuts(start_, log_);
  }

  // The same without the n-th sync: whether any disk is wrong then. No sync: nothing.
  std::optional<bool> is_missed(int nth) {
    std::vector<Change> log = log_;
    const auto sync = std::ranges::find_if(log, [&](const Change& change) {
      const bool syncs = change.kind == Change::Kind::kSyncFile || change.kind == Change::Kind::kSyncNames;
      return syncs && --nth == 0;
    });
    if (sync == log.end()) return std::nullopt;
    log.erase(sync);
    const PowerCuts cuts = power_cuts(start_, log);
    return cuts.at_end.size() != 1 || std::ranges::any_of(cuts.different, [&](const Disk& disk) {
      put(disk);
      return !sample_.neither().empty() || sample_.undo_all();
    });
  }

  // A model that lets every sync be left out proves nothing.
  void expect_each_sync_is_missed() {
    int nth = 1;
    for (; const auto missed = is_missed(nth); ++nth) EXPECT_TRUE(*missed) << "sync " << nth;
    EXPECT_GE(nth, 3);
  }

  void undo_all(bool newest_first, sys::Changes& changes) const {
    const auto error = sample_.undo_all(newest_first, changes);
    ASSERT_FALSE(error) << *error;
  }

  void repair_again(sys::Changes& changes) const {
    const Repaired again = sample_.repair(changes);
    ASSERT_TRUE(again.resumes) << again.reason;
    ASSERT_EQ(sample_.neither(), "");
    ASSERT_NE(sample_.not_the_original(), "");
  }

  void expect_all_ways_out(const Disk& disk) const {
    PoorFileSystem poor(GetParam().lacks);
    put(disk);
    ASSERT_EQ(sample_.neither(), "");
    for (const bool newest_first : {false, true}) {
      put(disk);
      undo_all(newest_first, poor);
      repair_again(poor);
      put(disk);
      repair_again(poor);
      undo_all(newest_first, poor);
    }
  }

  Sample sample_{GetParam().kind};
  Disk start_;  // of what cuts_of() saw last
  std::vector<Change> log_;
};

TEST_P(PowerCut, InARepair) {
  const PowerCuts cuts = cuts_of([&](sys::Changes& changes) {
    EXPECT_TRUE(sample_.repair(changes).resumes);
  });
  EXPECT_EQ(cuts.at_end.size(), 1U) << "success, and not all of it is on disk";
  expect_each_sync_is_missed();
  std::size_t in_undo = 0;
  for (const Disk& disk : cuts.different) {
    ASSERT_NO_FATAL_FAILURE(expect_all_ways_out(disk)) << disk.text();
    // And the undoing of what the cut left is cut as well.
    put(disk);
    const PowerCuts second = cuts_of([&](sys::Changes& changes) { undo_all(false, changes); });
    in_undo += second.states;
    for (const Disk& then : second.different) {
      put(then);
      ASSERT_EQ(sample_.neither(), "") << then.text();
      ASSERT_NO_FATAL_FAILURE(undo_all(false, unsynced())) << then.text();
    }
  }
  std::cout << "states after a cut: " << cuts.states << ", different: " << cuts.different.size()
            << ", after a second cut in their undoing: " << in_undo << '\n';
  EXPECT_GE(cuts.different.size(), 5U);
}

TEST_P(PowerCut, InAnUndoing) {
  PoorFileSystem poor(GetParam().lacks);
  ASSERT_TRUE(sample_.repair(poor).resumes);
  const PowerCuts cuts = cuts_of([&](sys::Changes& changes) { undo_all(false, changes); });
  EXPECT_EQ(cuts.at_end.size(), 1U) << "success, and not all of it is on disk";
  expect_each_sync_is_missed();
  for (const Disk& disk : cuts.different) {
    ASSERT_NO_FATAL_FAILURE(expect_all_ways_out(disk)) << disk.text();
  }
  std::cout << "states after a cut: " << cuts.states << ", different: " << cuts.different.size() << '\n';
  EXPECT_GE(cuts.different.size(), 3U);
}

// A repair that is run after a cut is cut too.
TEST_P(PowerCut, InASecondRepair) {
  const PowerCuts first = cuts_of([&](sys::Changes& changes) { EXPECT_TRUE(sample_.repair(changes).resumes); });
  std::size_t states = 0;
  for (const Disk& disk : first.different) {
    put(disk);
    const PowerCuts cuts = cuts_of([&](sys::Changes& changes) { repair_again(changes); });
    states += cuts.states;
    for (const Disk& then : cuts.different) {
      put(then);
      ASSERT_EQ(sample_.neither(), "") << then.text();
      ASSERT_NO_FATAL_FAILURE(undo_all(false, unsynced())) << then.text();
    }
  }
  std::cout << "states after a second cut: " << states << '\n';
}

INSTANTIATE_TEST_SUITE_P(All, PowerCut, testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace vfsmend::test
