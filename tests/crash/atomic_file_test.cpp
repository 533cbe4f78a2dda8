// SPDX-License-Identifier: Apache-2.0
// What a capture and --output write: a power cut or an error in any change leaves what was there, or
// the new content, whole.
#include "sys/atomic_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "failing_changes.h"
#include "poor_file_system.h"
#include "power_cuts.h"
#include "recording_changes.h"
#include "support/temp_dir.h"

namespace vfsmend::test {
namespace {

const std::string kOld(3000, 'o');
const std::string kNew(5000, 'n');

class Replacing : public testing::TestWithParam<Lacks> {
 protected:
  Result<void> replace(sys::Changes& changes) const {
    return sys::replace_file(changes, file_, kNew, sys::FileMode::kPrivate);
  }
  // A file that was not there: none, or the new one.
  [[nodiscard]] bool is_whole(bool was_there) const {
    const Disk disk = read_disk(dir_.path());
    const auto at = disk.names.find(file_);
    if (at == disk.names.end()) return !was_there;
    const DiskFile& file = disk.files.at(at->second);
    return (was_there && file.bytes == kOld) || (file.bytes == kNew && file.mode == 0600);
  }
  void start(bool was_there) const {
    put_disk({}, dir_.path());
    if (was_there) dir_.write("f", kOld);
  }

  TempDir dir_;
  std::string file_ = dir_ / "f";
  PoorFileSystem poor_{GetParam()};
};

TEST_P(Replacing, APowerCut) {
  for (const bool was_there : {false, true}) {
    start(was_there);
    RecordingChanges recording(dir_.path(), poor_);
    ASSERT_TRUE(replace(recording));
    const PowerCuts cuts = power_cuts(recording.start(), recording.log());
    ASSERT_EQ(cuts.at_end.size(), 1U);
    for (const Disk& disk : cuts.different) {
      put_disk(disk, dir_.path());
      ASSERT_TRUE(is_whole(was_there)) << disk.text();
      ASSERT_TRUE(replace(poor_));
      EXPECT_EQ(read_text(file_), kNew);
    }
  }
}

TEST_P(Replacing, AnErrorInAnyChange) {
  for (const int err : {ENOSPC, EROFS, EPERM, EIO}) {
    for (const bool was_there : {false, true}) {
      for (int nth = 1;; ++nth) {
        SCOPED_TRACE(fmt::format("change {} fails with {}", nth, err));
        start(was_there);
        FailingChanges failing(nth, err, false, poor_);
        const Result<void> done = replace(failing);
        ASSERT_TRUE(is_whole(was_there));
        EXPECT_TRUE(!done || read_text(file_) == kNew);
        EXPECT_LE(read_disk(dir_.path()).names.size(), 1U) << "a draft is left";
        if (failing.never()) break;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Replacing,
                         testing::Values(Lacks{.name = "all"}, Lacks{.name = "no_tmpfile", .tmpfile = true},
                                         Lacks{.name = "short_writes", .at_once = 700}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace vfsmend::test
