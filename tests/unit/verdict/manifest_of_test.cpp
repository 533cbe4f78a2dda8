// SPDX-License-Identifier: Apache-2.0
// Which manifest goes with a check, and that a damaged one is never used: not even in part.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "manifest/capture.h"
#include "support/manifest_builder.h"
#include "support/state_builder.h"
#include "support/stepping_calls.h"
#include "support/temp_dir.h"
#include "verdict/capture_snapshot.h"
#include "verdict/check.h"
#include "verdict/manifest_of.h"

namespace vfsmend::test {
namespace {

class ManifestOf : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "looking needs root";
    dir_.write("S/a", "x");
    dir_.write("S/b", "x");
    request_.snapshot_path = dir_.write("state", encode(state_of({root(3), at(2, 1, "a")}), Dialect::kV2));
    request_.shares = {{"", dir_ / "S"}};
    request_.profile = Profile::kVirtiofsd;
    beside_ = request_.snapshot_path + ".vfsmend-manifest";
  }

  // What a capture writes.
  ByteVector captured() {
    CaptureRequest capture;
    capture.what = request_;
    const auto result = capture_snapshot(sys::kernel(), capture, [](auto) {});
    VFSMEND_CHECK(result && result->report.reason.empty());
    return encoded(result->manifest);
  }
  Error error() {
    const auto found = manifest_of(sys::kernel(), request_);
    EXPECT_FALSE(found);
    return found ? Error{} : found.error();
  }
  Report checked() {
    const auto report = check(sys::kernel(), request_, [](auto) {});
    VFSMEND_CHECK(report);
    return *report;
  }

  TempDir dir_;
  CheckRequest request_;
  std::string beside_;
};

TEST_F(ManifestOf, NoneIsNoError) {
  const auto found = manifest_of(sys::kernel(), request_);
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
  EXPECT_EQ(checked().verdict, Verdict::kResume);
  EXPECT_FALSE(checked().manifest);
}

TEST_F(ManifestOf, BesideAFileAndInADirectory) {
  const ByteVector bytes = captured();
  dir_.write("state.vfsmend-manifest", bytes);
  auto found = manifest_of(sys::kernel(), request_);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->info.path, beside_);
  EXPECT_EQ((*found)->info.bytes, bytes.size());
  EXPECT_FALSE((*found)->info.time.empty());
  EXPECT_NE(section_of((*found)->manifest, "raw"), nullptr);
  EXPECT_EQ(section_of((*found)->manifest, "another"), nullptr);
  EXPECT_EQ(checked().verdict, Verdict::kResume);
  request_.snapshot_path = dir_.path();
  const std::string inside = dir_.write("vfsmend.manifest", bytes);
  found = manifest_of(sys::kernel(), request_);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->info.path, inside);
}

TEST_F(ManifestOf, OneThatIsNamedGoesBeforeTheOneThatLiesThere) {
  dir_.write("state.vfsmend-manifest", "damaged");
  request_.manifest_file = dir_.write("named", captured());
  const auto found = manifest_of(sys::kernel(), request_);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->info.path, request_.manifest_file);
}

TEST_F(ManifestOf, ASectionOfATreeIsForEveryDevice) {
  Manifest manifest = small_manifest();
  EXPECT_EQ(section_of(manifest, "virtio_rw"), &manifest.sections[0]);
  EXPECT_EQ(section_of(manifest, "raw"), &manifest.sections[1]);
  EXPECT_EQ(section_of({}, "raw"), nullptr);
}

TEST_F(ManifestOf, OneThatIsNamedAndCannotBeReadIsWrongUsage) {
  const ByteVector bytes = captured();
  ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  for (const std::string& file :
       {dir_ / "nothing", dir_.path(), dir_ / "fifo", dir_.write("empty", ""),
        dir_.write("cut", as_text(bytes).substr(0, bytes.size() - 1)), dir_.write("no/such", "") + "/x"}) {
    request_.manifest_file = file;
    EXPECT_EQ(error().code, ErrorCode::kUsage) << file;
    EXPECT_TRUE(error().text.starts_with(file + ": ")) << error().text;
    const auto report = check(sys::kernel(), request_, [](auto) {});
    ASSERT_FALSE(report) << file;
    EXPECT_EQ(report.error().code, ErrorCode::kUsage) << file;
  }
}

// The verdict would be another one if anything of it were used: the file is gone.
TEST_F(ManifestOf, OneThatIsFoundAndDamagedDecidesNothing) {
  const ByteVector bytes = captured();
  ASSERT_EQ(::unlink((dir_ / "S/a").c_str()), 0);
  ASSERT_EQ(checked().verdict, Verdict::kRepair);
  for (const std::size_t size : {std::size_t{0}, std::size_t{20}, bytes.size() / 2, bytes.size() - 1}) {
    dir_.write("state.vfsmend-manifest", as_text(bytes).substr(0, size));
    EXPECT_EQ(error().code, ErrorCode::kFormat) << size;
    const Report report = checked();
    EXPECT_EQ(report.verdict, Verdict::kIndeterminate);
    EXPECT_TRUE(report.reason.starts_with(beside_ + ": ")) << report.reason;
    EXPECT_TRUE(report.devices.empty());
    EXPECT_TRUE(report.counts.empty());
    EXPECT_FALSE(report.manifest);
  }
}

TEST_F(ManifestOf, WhatStandsInItsPlaceIsNotOpened) {
  ASSERT_EQ(::mkfifo(beside_.c_str(), 0600), 0);  // to open it would be to wait
  EXPECT_EQ(error().code, ErrorCode::kNotAState);
  EXPECT_NE(error().text.find("FIFO"), std::string::npos) << error().text;
  EXPECT_EQ(checked().verdict, Verdict::kIndeterminate);
}

TEST_F(ManifestOf, AnErrorOfTheHostIsNoMissingManifest) {
  dir_.write("state.vfsmend-manifest", captured());
  for (const int err : {EIO, EACCES, ESTALE, EMFILE}) {
    SteppingCalls calls([&](const Step& step) {
      return step.call == "openat2" && step.path == beside_ ? -err : 0;
    });
    const auto found = manifest_of(calls, request_);
    ASSERT_FALSE(found) << err;
    EXPECT_EQ(found.error().code, ErrorCode::kSystem);
    const auto report = check(calls, request_, [](auto) {});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->verdict, Verdict::kIndeterminate);
  }
}

}  // namespace
}  // namespace vfsmend::test
