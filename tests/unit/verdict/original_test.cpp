// SPDX-License-Identifier: Apache-2.0
// Where a recorded object is now: by its handle, in its directory, beside it, by a search; and how
// little is done for one that is not there.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "manifest/capture.h"
#include "support/manifest_builder.h"
#include "support/state_builder.h"
#include "support/stepping_calls.h"
#include "support/temp_dir.h"
#include "verdict/original.h"

namespace vfsmend::test {
namespace {

namespace fs = std::filesystem;

int without_handles(const Step& step) { return step.call == "open_by_handle_at" ? -EOPNOTSUPP : 0; }

class Original : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "opening by handle needs root";
    for (const char* file : {"d/b", "d/c", "e/x", "f/g/y", "top"}) dir_.write(file, file);
    capture();
    Destination to = virtiofsd();
    to.shared_dir = dir_.path();
    share_ = open_share(sys::kernel(), to);
  }

  void capture() {
    const CaptureInput input{sys::kernel(), dir_.path(), "", nullptr, {}, true, HashScope::kNone, 0, {}};
    auto captured = capture_share(input);
    ASSERT_TRUE(captured);
    section_ = std::move(captured->section);
  }

  std::uint32_t position(const std::string& path) const {
    for (std::uint32_t i = 0; i < section_.entries.size_of(); ++i) {
      if (path_of(section_.entries, i) == path) return i;
    }
    ADD_FAILURE() << path;
    return 0;
  }
  // "" where it is not found.
  std::string find(sys::Calls& calls, std::uint32_t at, bool search_all = false) const {
    const State state = state_of({root(2)});
    const NodeIndex index(state);
    const LoadOrder order = load_order(state, index);
    const Record record(section_, 0, state, index, order);
    OriginalFinder finder(calls, share_, record, search_all);
    const auto found = finder.find(at);
    EXPECT_EQ(finder.find(at), found) << "asked again";
    return found.value_or("");
  }
  std::string find(const std::string& path, bool search_all = false) const {
    return find(sys::kernel(), position(path), search_all);
  }
  // By names alone.
  std::string find_by_name(const std::string& path, bool search_all = false) const {
    SteppingCalls calls(without_handles);
    return find(calls, position(path), search_all);
  }
  void move(const std::string& from, const std::string& to) const {
    fs::create_directories(fs::path(dir_ / to).parent_path());
    fs::rename(dir_ / from, dir_ / to);
  }

  void TearDown() override { EXPECT_EQ(::fchdir(before_.get()), 0); }

  sys::UniqueFd before_{::open(".", O_PATH | O_CLOEXEC)};  // opening by handle changes it
  TempDir dir_;
  ManifestSection section_;
  Share share_;
};

TEST_F(Original, ADirectoryIsFoundByItsHandleWhereverItIs) {
  move("d", "p/q/r/moved");
  EXPECT_EQ(find("d"), "p/q/r/moved");
  EXPECT_EQ(find_by_name("d"), "") << "three levels down is not beside it";
  EXPECT_EQ(find_by_name("d", true), "p/q/r/moved");
}

TEST_F(Original, WhatIsInAMovedDirectoryIsFoundInIt) {
  move("d", "p/q/moved");
  move("p/q/moved/b", "p/q/moved/renamed");
  int asked = 0;
  SteppingCalls calls([&](const Step& step) {  // of a file the file system may not say where
    return step.call == "open_by_handle_at" && ++asked == 1 ? -EOPNOTSUPP : 0;
  });
  EXPECT_EQ(find(calls, position("d/b")), "p/q/moved/renamed");
}

TEST_F(Original, InItsDirectory) {
  move("d/b", "d/renamed");
  EXPECT_EQ(find("d/b"), "d/renamed");
  EXPECT_EQ(find_by_name("d/b"), "d/renamed");
  move("top", "bottom");
  EXPECT_EQ(find_by_name("top"), "bottom");
}

TEST_F(Original, DeeperThanAPathThatTheKernelTakesAtOnce) {
  const std::string name(200, 'n');
  std::string path;
  sys::UniqueFd at(::open(dir_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0755), 0);
    at = sys::UniqueFd(::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    path += name + "/";
  }
  const sys::UniqueFd file(::openat(at.get(), "leaf", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  ASSERT_TRUE(file.valid());
  capture();
  std::uint32_t leaf = 0;
  while (section_.entries.name[leaf] != "leaf") ++leaf;
  EXPECT_EQ(find(sys::kernel(), leaf), path + "leaf");
  ASSERT_EQ(::renameat(at.get(), "leaf", at.get(), "moved"), 0);
  EXPECT_EQ(find(sys::kernel(), leaf), path + "moved");
  SteppingCalls by_name(without_handles);
  EXPECT_EQ(find(by_name, leaf), path + "moved");
}

TEST_F(Original, InItsDirectoryThatWasRenamedToo) {
  move("f", "F");
  move("F/g", "F/G");
  move("F/G/y", "F/G/Y");
  EXPECT_EQ(find_by_name("f/g/y"), "F/G/Y");
}

TEST_F(Original, BesideItsDirectory) {
  move("d/b", "e/b");
  EXPECT_EQ(find_by_name("d/b"), "e/b");
  move("e/b", "up");
  EXPECT_EQ(find_by_name("d/b"), "up");
}

TEST_F(Original, BySearchOnRequestOnly) {
  move("d/b", "p/q/b");
  EXPECT_EQ(find_by_name("d/b"), "");
  EXPECT_EQ(find_by_name("d/b", true), "p/q/b");
}

TEST_F(Original, StillAtItsName) {
  EXPECT_EQ(find_by_name("d/b"), "d/b");
}

// The file system knows that it is gone: nothing is searched.
TEST_F(Original, OneThatIsGoneCostsNoListing) {
  fs::remove(dir_ / "d/b");
  int listings = 0;
  SteppingCalls calls([&](const Step& step) {
    listings += step.call == "getdents";
    return 0;
  });
  EXPECT_EQ(find(calls, position("d/b"), true), "");
  EXPECT_EQ(listings, 0);
  EXPECT_EQ(find_by_name("d/b", true), "");
}

TEST_F(Original, AnotherFileUnderTheNameIsNotIt) {
  fs::remove(dir_ / "d/b");
  dir_.write("d/b", "d/b");
  EXPECT_EQ(find("d/b", true), "");
  EXPECT_EQ(find_by_name("d/b", true), "");
}

TEST_F(Original, OutsideOfTheShareIsNotFound) {
  const TempDir elsewhere;
  fs::rename(dir_ / "d", elsewhere / "d");
  EXPECT_EQ(find("d", true), "");
  EXPECT_EQ(find_by_name("d", true), "");
  // Nor through a link that leads there.
  fs::create_directory_symlink(elsewhere / "d", dir_ / "d");
  EXPECT_EQ(find_by_name("d/b", true), "");
}

TEST_F(Original, WhatWasNotSeenIsNotLookedFor) {
  section_.entries.notes[position("d/b")] |= kVanished;
  EXPECT_EQ(find("d/b", true), "");
  EXPECT_EQ(find(sys::kernel(), 0, true), "") << "the share itself";
}

TEST_F(Original, ManyOfOneDirectoryCostOneListing) {
  move("d/b", "d/b2");
  move("d/c", "d/c2");
  int listings = 0;
  SteppingCalls calls([&](const Step& step) {
    listings += step.call == "getdents";
    return without_handles(step);
  });
  const State state = state_of({root(2)});
  const NodeIndex index(state);
  const LoadOrder order = load_order(state, index);
  const Record record(section_, 0, state, index, order);
  OriginalFinder finder(calls, share_, record, false);
  EXPECT_EQ(finder.find(position("d/b")), "d/b2");
  EXPECT_EQ(finder.find(position("d/c")), "d/c2");
  EXPECT_EQ(listings, 2) << "one, and its end";
}

// A directory that never ends.
class EndlessNames final : public ForwardingCalls {
 public:
  int open_by_handle_at(int, file_handle&, int) override { return -EOPNOTSUPP; }
  ssize_t getdents(int, std::span<std::uint8_t> out) override {
    std::size_t at = 0;
    for (; at + 32 <= out.size(); at += 32) {
      dirent64 entry{};
      entry.d_ino = 1'000'000'000 + ++names;
      entry.d_reclen = 32;
      std::snprintf(entry.d_name, sizeof entry.d_name, "%zu", names);
      std::memcpy(out.data() + at, &entry, 32);
    }
    return static_cast<ssize_t>(at);
  }
  std::size_t names = 0;
};

TEST_F(Original, ASearchIsBounded) {
  EndlessNames calls;
  EXPECT_EQ(find(calls, position("d/b")), "");
  EXPECT_LT(calls.names, 1'100'000U);
  EXPECT_GT(calls.names, 65'536U);
}

// A manifest is hostile input: what it says is in what may be as deep as it likes.
TEST_F(Original, ADeepRecordIsNoDeepStack) {
  constexpr std::uint32_t kDepth = 300'000;
  section_.entries = {};
  section_.xattr_sets = {{}};
  add_entry(section_.entries, kNoParent, "", 040755, 2);
  for (std::uint32_t i = 0; i < kDepth; ++i) add_entry(section_.entries, i, "d", 040755, 100 + i);
  section_.devices = {share_.stat.stx_ino};
  SteppingCalls calls(without_handles);
  EXPECT_EQ(find(calls, kDepth, true), "");
}

}  // namespace
}  // namespace vfsmend::test
