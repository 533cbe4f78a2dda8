// SPDX-License-Identifier: Apache-2.0
// One object, while somebody else works on it: each step between two calls is the test's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "manifest/capture.h"
#include "manifest/object.h"
#include "support/stepping_calls.h"
#include "support/temp_dir.h"
#include "sys/unique_fd.h"

namespace vfsmend::test {
namespace {

const LookOptions kNoTrust;  // whatever changed is looked at once more
const LookOptions kHashed{0, [](std::uint64_t) { return true; }};

class LookAt : public testing::Test {
 protected:
  // Does `act` before the n-th call named `call`; `every`: and before each that follows.
  Look look(std::string_view call, int nth, const std::function<int()>& act, bool every = false,
            const LookOptions& options = kNoTrust, const char* name = "f") {
    int seen = 0;
    SteppingCalls calls([&](const Step& step) {
      if (step.call != call) return 0;
      ++seen;
      return seen == nth || (every && seen > nth) ? act() : 0;
    });
    const Look out = look_at(calls, fd_.get(), name, options, object_);
    EXPECT_GE(seen, nth) << "the step was never reached";
    return out;
  }
  int append() {
    std::ofstream(dir_ / "f", std::ios::app) << "more";
    return 0;
  }

  void SetUp() override { dir_.write("f", "content"); }

  TempDir dir_;
  sys::UniqueFd fd_{::open(dir_.path().c_str(), O_PATH | O_CLOEXEC)};
  Object object_;
};

TEST_F(LookAt, AnObjectThatChangesAllTheTimeIsChanging) {
  const Look seen = look("statx", 2, [&] { return append(); }, true);
  EXPECT_EQ(seen.end, LookEnd::kChanging);
}

TEST_F(LookAt, OneThatSettlesIsWholeAsItBecame) {
  for (const char* call : {"statx", "name_to_handle_at", "listxattrat"}) {
    const Look seen = look(call, 1, [&] { return append(); });
    EXPECT_EQ(seen.end, LookEnd::kWhole) << call;
    EXPECT_EQ(object_.facts.size, std::filesystem::file_size(dir_ / "f")) << call;
  }
}

TEST_F(LookAt, WhatIsOlderThanTheCaptureIsAskedForOnce) {
  struct stat before {};
  ASSERT_EQ(::stat((dir_ / "f").c_str(), &before), 0);
  const std::int64_t changed = before.st_ctim.tv_sec * std::int64_t{1'000'000'000} + before.st_ctim.tv_nsec;
  const auto count = [&](std::int64_t began) {
    int stats = 0;
    SteppingCalls calls([&](const Step& step) {
      stats += step.call == "statx";
      return 0;
    });
    EXPECT_EQ(look_at(calls, fd_.get(), "f", {began, nullptr}, object_).end, LookEnd::kWhole);
    return stats;
  };
  EXPECT_EQ(count(changed + kClockTick + 1), 1);
  EXPECT_EQ(count(changed + kClockTick), 2) << "a tick of the clock is not to be trusted";
}

TEST_F(LookAt, AnObjectThatGoesAwayHasVanished) {
  for (const char* call : {"statx", "name_to_handle_at", "listxattrat"}) {
    dir_.write("f", "content");
    const Look seen = look(call, 1, [&] { return ::unlink((dir_ / "f").c_str()); });
    EXPECT_EQ(seen.end, LookEnd::kVanished) << call;
  }
  dir_.write("f", "content");
  EXPECT_EQ(look("statx", 2, [&] { return ::unlink((dir_ / "f").c_str()); }).end, LookEnd::kVanished);
}

TEST_F(LookAt, AReplacementIsRecordedAsItselfAndNotMixed) {
  dir_.write("new", "another content");
  ASSERT_EQ(::setxattr((dir_ / "new").c_str(), "user.a", "1", 1, 0), 0);
  struct stat replacement {};
  ASSERT_EQ(::stat((dir_ / "new").c_str(), &replacement), 0);
  const Look seen = look("listxattrat", 1, [&] {
    return ::rename((dir_ / "new").c_str(), (dir_ / "f").c_str());
  });
  EXPECT_EQ(seen.end, LookEnd::kWhole);
  EXPECT_EQ(object_.facts.ino, replacement.st_ino);
  EXPECT_EQ(object_.xattrs.size(), 1U);
}

TEST_F(LookAt, WhatCannotBeReadIsNamedAndTheRestIsThere) {
  ::symlink("target", (dir_ / "l").c_str());
  ASSERT_EQ(::lsetxattr((dir_ / "l").c_str(), "trusted.a", "1", 1, 0), 0);
  const struct {
    const char* call;
    const char* what;
  } kCases[] = {{"name_to_handle_at", "file handle"}, {"listxattrat", "extended attributes"},
                {"getxattrat", "extended attributes"}, {"readlinkat", "target"}};
  for (const auto& c : kCases) {
    for (const int err : {EIO, EACCES}) {
      const Look seen = look(c.call, 1, [&] { return -err; }, true, kNoTrust, "l");
      EXPECT_EQ(seen.end, LookEnd::kUnreadable) << c.call;
      EXPECT_EQ(seen.err, err) << c.call;
      EXPECT_STREQ(seen.what, c.what);
      EXPECT_TRUE(S_ISLNK(object_.facts.mode));
      EXPECT_EQ(object_.target, c.what == std::string_view("target") ? "" : "target");
      EXPECT_EQ(object_.handle.size == 0, c.what == std::string_view("file handle"));
    }
  }
}

TEST_F(LookAt, AFileSystemMayHaveNoHandlesAndNoAttributes) {
  SteppingCalls calls([](const Step& step) {
    return step.call == "name_to_handle_at" || step.call == "listxattrat" ? -EOPNOTSUPP : 0;
  });
  EXPECT_EQ(look_at(calls, fd_.get(), "f", kNoTrust, object_).end, LookEnd::kWhole);
  EXPECT_EQ(object_.handle.size, 0U);
  EXPECT_TRUE(object_.xattrs.empty());
}

TEST_F(LookAt, ALongTargetIsWhole) {
  const std::string target(4095, 't');
  ASSERT_EQ(::symlink(target.c_str(), (dir_ / "l").c_str()), 0);
  EXPECT_EQ(look_at(sys::kernel(), fd_.get(), "l", kNoTrust, object_).end, LookEnd::kWhole);
  EXPECT_EQ(object_.target, target);
}

class Hash : public LookAt {
 protected:
  // As state_digest() has it, which hashes in one go.
  [[nodiscard]] std::string hash_text() const {
    return object_.hash ? fmt::format("{:016x}{:016x}", (*object_.hash)[1], (*object_.hash)[0]) : "none";
  }
};

TEST_F(Hash, IsOfAllBytesAndMovesNoAccessTime) {
  const std::string content(3'000'001, 'z');  // several reads
  dir_.write("f", content);
  const timespec long_ago[2] = {{1, 1}, {2, 2}};
  ASSERT_EQ(::utimensat(fd_.get(), "f", long_ago, 0), 0);
  for (const int dir : {fd_.get(), ::open((dir_ / "f").c_str(), O_PATH | O_CLOEXEC)}) {
    const sys::UniqueFd own(dir == fd_.get() ? -1 : dir);
    ASSERT_EQ(look_at(sys::kernel(), dir, own.valid() ? "" : "f", kHashed, object_).end, LookEnd::kWhole);
    EXPECT_EQ(hash_text(), state_digest(as_bytes(content)));
  }
  struct stat after {};
  ASSERT_EQ(::stat((dir_ / "f").c_str(), &after), 0);
  EXPECT_EQ(after.st_atim.tv_sec, 1);
}

TEST_F(Hash, OfAFileThatIsWrittenToIsNotKept) {
  EXPECT_EQ(look("pread", 1, [&] { return append(); }, true, kHashed).end, LookEnd::kChanging);
  const Look settled = look("pread", 1, [&] { return append(); }, false, kHashed);
  EXPECT_EQ(settled.end, LookEnd::kWhole);
  EXPECT_EQ(hash_text(), state_digest(as_bytes(read_text(dir_ / "f"))));
}

// Of an object that was not touched for long the name is not asked again: its descriptor tells as much.
TEST_F(Hash, OfAnOldFileThatChangesWhileItIsReadIsNotKept) {
  const LookOptions old{file_clock() + 1'000'000'000, [](std::uint64_t) { return true; }};
  const auto replace = [&] {
    dir_.write("new", "another");
    return ::rename((dir_ / "new").c_str(), (dir_ / "f").c_str());
  };
  for (const std::function<int()>& change : {std::function<int()>([&] { return append(); }),
                                             std::function<int()>(replace)}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // ctimes of before are others
    EXPECT_EQ(look("pread", 1, change, false, old).end, LookEnd::kWhole);
    EXPECT_EQ(hash_text(), state_digest(as_bytes(read_text(dir_ / "f"))));
    struct stat now {};
    ASSERT_EQ(::stat((dir_ / "f").c_str(), &now), 0);
    EXPECT_EQ(object_.facts.ino, now.st_ino);
    EXPECT_EQ(object_.facts.size, static_cast<std::uint64_t>(now.st_size));
  }
}

TEST_F(Hash, OfAFileThatShrinksIsNotKept) {
  const auto cut = [&] { return ::truncate((dir_ / "f").c_str(), 0); };
  EXPECT_EQ(look("pread", 1, cut, false, kHashed).end, LookEnd::kWhole);
  EXPECT_EQ(object_.facts.size, 0U) << "as it became";
  EXPECT_EQ(hash_text(), state_digest({}));
}

TEST_F(Hash, AFifoInThePlaceOfTheFileIsNotWaitedFor) {
  const auto trap = [&] {
    ::unlink((dir_ / "f").c_str());
    return ::mkfifo((dir_ / "f").c_str(), 0600);
  };
  const Look seen = look("openat2", 1, trap, false, kHashed);
  EXPECT_EQ(seen.end, LookEnd::kWhole);
  EXPECT_TRUE(S_ISFIFO(object_.facts.mode));
  EXPECT_FALSE(object_.hash);
}

TEST_F(Hash, ALinkInThePlaceOfTheFileIsNotFollowed) {
  dir_.write("secret", "content");
  const auto trap = [&] {
    ::unlink((dir_ / "f").c_str());
    return ::symlink("secret", (dir_ / "f").c_str());
  };
  look("openat2", 1, trap, false, kHashed);
  EXPECT_FALSE(object_.hash);
}

TEST_F(Hash, ThatCannotBeReadIsNamed) {
  for (const char* call : {"openat2", "pread"}) {
    const Look seen = look(call, 1, [] { return -EIO; }, true, kHashed);
    EXPECT_EQ(seen.end, LookEnd::kUnreadable) << call;
    EXPECT_STREQ(seen.what, "content");
    EXPECT_EQ(seen.err, EIO);
    EXPECT_FALSE(object_.hash);
    EXPECT_EQ(object_.facts.size, 7U);
  }
}

TEST_F(Hash, FallsBackWhereOnlyTheOwnerMayLeaveAccessTimes) {
  EXPECT_EQ(look("openat2", 1, [] { return -EPERM; }, false, kHashed).end, LookEnd::kWhole);
  EXPECT_TRUE(object_.hash);
}

}  // namespace
}  // namespace vfsmend::test
