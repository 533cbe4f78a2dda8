// SPDX-License-Identifier: Apache-2.0
// Each change of a repair and of its undoing fails, alone or with all behind it: the snapshot is the
// original or the repaired one, what is left beside it is told, and the next run does its work.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>

#include "cases.h"
#include "failing_changes.h"

namespace vfsmend::test {
namespace {

constexpr int kErrors[] = {ENOSPC, EROFS, EPERM, EIO};

class Failing : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "a repair needs root";
  }

  // `work(changes)` with the n-th change failing, for every n and error; `put` comes before each.
  template <typename Put, typename Work>
  std::size_t fail_each(Put put, Work work) {
    constexpr int kMost = 500;
    std::size_t runs = 0;
    for (const int err : kErrors) {
      for (const bool for_ever : {false, true}) {
        for (int nth = 1;; ++nth, ++runs) {
          SCOPED_TRACE(fmt::format("change {} fails with {}{}", nth, err, for_ever ? ", and all after it" : ""));
          put();
          FailingChanges failing(nth, err, for_ever, poor_);
          work(failing);
          if (testing::Test::HasFatalFailure() || failing.never()) break;
          EXPECT_LT(nth, kMost);
        }
      }
    }
    return runs;
  }

  void expect_told(const std::string& said) const {
    for (const std::string& path : sample_.leftovers()) {
      const std::string name = path.substr(path.rfind('/') + 1);
      EXPECT_NE(said.find(name), std::string::npos) << path << " is left, and this was said: " << said;
    }
  }

  void undo_all() const {
    const auto error = sample_.undo_all();
    ASSERT_FALSE(error) << *error;
  }

  Sample sample_{GetParam().kind};
  PoorFileSystem poor_{GetParam().lacks};
};

TEST_P(Failing, InARepair) {
  const auto put = [&] { put_disk(sample_.start(), sample_.folder()); };
  const std::size_t runs = fail_each(put, [&](sys::Changes& changes) {
    const Repaired done = sample_.repair(changes);
    ASSERT_EQ(sample_.neither(), "");
    const bool changed = !sample_.not_the_original().empty();
    EXPECT_TRUE(done.resumes || !done.reason.empty());
    EXPECT_TRUE(changed || !done.resumes);
    EXPECT_TRUE(!changed || !done.journal.empty()) << "a change that nobody can undo: " << done.reason;
    expect_told(done.reason + " " + done.journal + " " + done.kept);
    const Repaired again = sample_.repair();
    EXPECT_TRUE(again.resumes) << again.reason;
    undo_all();
  });
  std::cout << "runs with an error: " << runs << '\n';
  EXPECT_GE(runs, 8U);
}

TEST_P(Failing, InAnUndoing) {
  ASSERT_TRUE(sample_.repair(poor_).resumes);
  const Disk repaired = read_disk(sample_.folder());
  const auto put = [&] { put_disk(repaired, sample_.folder()); };
  const std::size_t runs = fail_each(put, [&](sys::Changes& changes) {
    ASSERT_EQ(sample_.journals().size(), 1U);
    const auto error = Sample::undo(sample_.journals()[0], changes);
    ASSERT_EQ(sample_.neither(), "");
    EXPECT_TRUE(error || sample_.not_the_original().empty());
    undo_all();
    EXPECT_EQ(sample_.leftovers().size(), 0U);
  });
  std::cout << "runs with an error: " << runs << '\n';
  EXPECT_GE(runs, 8U);
}

// The journal of a repair that never came to its change: the way of undo that only tidies up.
TEST_P(Failing, InTheUndoingOfNothing) {
  ASSERT_TRUE(sample_.repair(poor_).resumes);
  Disk half = read_disk(sample_.folder());
  for (const auto& [path, file] : sample_.start().names) {
    half.files[1000 + file] = sample_.start().files.at(file);
    half.names[path] = 1000 + file;
  }
  const auto put = [&] { put_disk(half, sample_.folder()); };
  fail_each(put, [&](sys::Changes& changes) {
    ASSERT_EQ(sample_.journals().size(), 1U);
    static_cast<void>(Sample::undo(sample_.journals()[0], changes));
    ASSERT_EQ(sample_.not_the_original(), "");
    undo_all();
    EXPECT_EQ(sample_.leftovers().size(), 0U);
  });
}

INSTANTIATE_TEST_SUITE_P(All, Failing, testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace vfsmend::test
