// SPDX-License-Identifier: Apache-2.0
// An undoing takes nothing away that the repair did not make, though it has the states of a repair.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "cases.h"

namespace vfsmend::test {
namespace {

class Undoing : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "a repair needs root";
    ASSERT_TRUE(sample_.repair(poor_).resumes);
    ASSERT_EQ(sample_.journals().size(), 1U);
    journal_ = sample_.journals()[0];
  }

  // As a VMM does that takes the snapshot again: another file, with the same states or other ones.
  void take_anew(const std::string& bytes) const {
    constexpr auto kTick = std::chrono::milliseconds(20);  // of the clock that stamps files
    std::this_thread::sleep_for(kTick);
    std::ofstream(sample_.file(), std::ios::binary | std::ios::trunc) << bytes;
  }

  void expect_refused(const std::string& bytes) const {
    const std::size_t left = sample_.leftovers().size();
    const auto error = Sample::undo(journal_);
    ASSERT_TRUE(error);
    EXPECT_NE(error->find("something has changed it since"), std::string::npos) << *error;
    EXPECT_TRUE(read_text(sample_.file()) == bytes);
    EXPECT_EQ(sample_.leftovers().size(), left);
  }

  Sample sample_{GetParam().kind};
  PoorFileSystem poor_{GetParam().lacks};
  std::string journal_;
};

TEST_P(Undoing, OfASnapshotTakenAnewWithTheStatesOfBeforeIsRefused) {
  take_anew(sample_.original().bytes);
  expect_refused(sample_.original().bytes);
}

TEST_P(Undoing, OfASnapshotTakenAnewWithTheStatesOfTheRepairIsRefused) {
  take_anew(sample_.repaired());
  expect_refused(sample_.repaired());
}

INSTANTIATE_TEST_SUITE_P(All, Undoing, testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace vfsmend::test
