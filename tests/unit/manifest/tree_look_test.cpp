// SPDX-License-Identifier: Apache-2.0
// What a walk records of a tree that moves under it or cannot be read everywhere: each thing is told,
// and the rest is there.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tree_fixture.h"

namespace vfsmend::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
namespace fs = std::filesystem;

class TreeLookTest : public TreeFixture {
 protected:
  void SetUp() override {
    dir_.write("a", "1");
    dir_.write("d/b", "22");
    dir_.write("d/e/c", "333");
    dir_.write("z", "4");
  }
  // Does `act` before the first call `call` on `path`.
  static auto once(std::string_view call, std::string_view path, std::function<int()> act) {
    return [=, done = false](const Step& step) mutable {
      if (done || step.call != call || step.path != path) return 0;
      done = true;
      return act();
    };
  }
  void expect_rest(const TreeLook& seen) {
    for (const char* path : {"", "a", "z"}) {
      EXPECT_EQ(seen.entries.notes[position(seen, path)], 0) << path;
      EXPECT_NE(seen.entries.ino[position(seen, path)], 0U) << path;
    }
    expect_sound(seen);
  }
};

TEST_F(TreeLookTest, TheTableIsBreadthFirstAndSorted) {
  const TreeLook seen = whole();
  EXPECT_THAT(paths(seen), ElementsAre("", "a", "d", "z", "d/b", "d/e", "d/e/c"));
  EXPECT_THAT(notes(seen), IsEmpty());
  EXPECT_EQ(seen.entries.size[6], 3U);
  expect_sound(seen);
}

TEST_F(TreeLookTest, AScopeSeesItsNamesAndTheWayToThem) {
  const TreeLook seen = some({"d/e/c", "nothing/here"});
  EXPECT_THAT(paths(seen), ElementsAre("", "d", "nothing", "d/e", "d/e/c"));
  EXPECT_THAT(notes(seen), ElementsAre("nothing: vanished"));
}

TEST_F(TreeLookTest, OneThatChangesAllTheTimeIsTold) {
  SteppingCalls calls([&](const Step& step) {
    if (step.call == "listxattrat" && step.path == "b") std::ofstream(dir_ / "d/b", std::ios::app) << "x";
    return 0;
  });
  const TreeLook seen = whole(calls);
  EXPECT_THAT(notes(seen), ElementsAre("d/b: changing"));
  const std::uint32_t b = position(seen, "d/b");
  EXPECT_EQ(seen.entries.notes[b], kChangedMeanwhile);
  EXPECT_EQ(seen.entries.ino[b], 0U) << "nothing is known but its name";
  EXPECT_EQ(seen.entries.mtime[b], kNoTime);
  expect_rest(seen);
}

TEST_F(TreeLookTest, OneThatSettlesIsWhole) {
  SteppingCalls calls(once("listxattrat", "b", [&] {
    std::ofstream(dir_ / "d/b", std::ios::app) << "x";
    return 0;
  }));
  const TreeLook seen = whole(calls);
  EXPECT_THAT(notes(seen), IsEmpty());
  EXPECT_EQ(seen.entries.size[position(seen, "d/b")], 3U);
}

TEST_F(TreeLookTest, OneThatVanishesAfterTheListingIsTold) {
  SteppingCalls calls(once("statx", "b", [&] { return ::unlink((dir_ / "d/b").c_str()); }));
  const TreeLook seen = whole(calls);
  EXPECT_THAT(notes(seen), ElementsAre("d/b: vanished"));
  EXPECT_EQ(seen.entries.notes[position(seen, "d/b")], vfsmend::kVanished);
  expect_rest(seen);
}

TEST_F(TreeLookTest, WhatCannotBeReadIsTold) {
  for (const int err : {EIO, EACCES}) {
    for (const auto& [call, what] : {std::pair("listxattrat", "extended attributes"),
                                     std::pair("name_to_handle_at", "file handle")}) {
      SteppingCalls calls([&, call = call](const Step& step) {
        return step.call == call && step.path == "e" ? -err : 0;
      });
      const TreeLook seen = whole(calls);
      EXPECT_THAT(notes(seen), ElementsAre(std::string("d/e: unreadable ") + what + " " + std::to_string(err)));
      const std::uint32_t e = position(seen, "d/e");
      EXPECT_EQ(seen.entries.notes[e], vfsmend::kUnreadable);
      EXPECT_TRUE(S_ISDIR(seen.entries.mode[e]));
      EXPECT_NE(seen.entries.ino[position(seen, "d/e/c")], 0U) << "what is in it was seen";
      expect_rest(seen);
    }
  }
}

TEST_F(TreeLookTest, ADirectoryThatCannotBeOpenedIsTold) {
  for (const int err : {EIO, EACCES, EMFILE}) {
    SteppingCalls calls([&](const Step& step) { return step.call == "openat2" && step.path == "d" ? -err : 0; });
    for (const TreeLook& seen : {whole(calls), some({"a", "d/e/c", "z"}, calls)}) {
      EXPECT_THAT(notes(seen), ElementsAre("d: unreadable directory " + std::to_string(err)));
      EXPECT_THAT(paths(seen), ElementsAre("", "a", "d", "z"));
      expect_rest(seen);
    }
  }
}

TEST_F(TreeLookTest, ADirectoryThatCannotBeListedIsTold) {
  for (const bool whole_tree : {true, false}) {
    int listings = 0;
    SteppingCalls calls([&](const Step& step) { return step.call == "getdents" && ++listings == 1 ? -EIO : 0; });
    const TreeLook seen = whole_tree ? whole(calls) : some({"a", "z"}, calls);
    EXPECT_THAT(notes(seen), ElementsAre(": unreadable directory 5")) << whole_tree;
    expect_sound(seen);
  }
}

// What the tenant puts there instead must not be entered.
class Swapped : public TreeLookTest {
 protected:
  void SetUp() override {
    TreeLookTest::SetUp();
    outside_.write("secret", "x");
    elsewhere_.write("other/secret", "x");
  }
  void expect_not_entered(const TreeLook& seen) {
    EXPECT_THAT(notes(seen), ElementsAre("d: changing"));
    EXPECT_THAT(paths(seen), ElementsAre("", "a", "d", "z"));
    EXPECT_EQ(seen.entries.notes[position(seen, "d")], kChangedMeanwhile);
    expect_rest(seen);
  }
  void move_away() { fs::rename(dir_ / "d", elsewhere_ / "d"); }

  TempDir outside_;
  TempDir elsewhere_;
};

TEST_F(Swapped, ALinkInThePlaceOfADirectory) {
  SteppingCalls calls(once("openat2", "d", [&] {
    move_away();
    return ::symlink(outside_.path().c_str(), (dir_ / "d").c_str());
  }));
  expect_not_entered(whole(calls));
}

TEST_F(Swapped, ALinkInThePlaceOfADirectoryOfAScope) {
  SteppingCalls calls(once("openat2", "d", [&] {
    move_away();
    return ::symlink(outside_.path().c_str(), (dir_ / "d").c_str());
  }));
  expect_not_entered(some({"a", "d/secret", "z"}, calls));
}

TEST_F(Swapped, AnotherDirectoryInItsPlace) {
  SteppingCalls calls(once("openat2", "d", [&] {
    move_away();
    fs::rename(elsewhere_ / "other", dir_ / "d");
    return 0;
  }));
  expect_not_entered(whole(calls));
}

TEST_F(Swapped, AFifoInItsPlace) {
  SteppingCalls calls(once("openat2", "d", [&] {
    move_away();
    return ::mkfifo((dir_ / "d").c_str(), 0600);
  }));
  expect_not_entered(whole(calls));
}

TEST_F(Swapped, ADirectoryThatIsGone) {
  SteppingCalls calls(once("openat2", "d", [&] {
    move_away();
    return 0;
  }));
  expect_not_entered(whole(calls));
}

// Once it is open, a directory that is moved out of the share is still the one that was in it.
TEST_F(Swapped, ADirectoryThatIsMovedWhileItIsOpen) {
  int stats = 0;
  SteppingCalls calls([&](const Step& step) {
    if (step.call == "statx" && step.path == "b" && ++stats == 1) {
      move_away();
      EXPECT_EQ(::symlink(outside_.path().c_str(), (dir_ / "d").c_str()), 0);
    }
    return 0;
  });
  const TreeLook seen = whole(calls);
  EXPECT_THAT(paths(seen), ElementsAre("", "a", "d", "z", "d/b", "d/e", "d/e/c"));
}

class Budget : public TreeLookTest {};

TEST_F(Budget, IsNotExceeded) {
  const TreeLook all = whole(sys::kernel(), 0, HashScope::kAll, 7);
  EXPECT_EQ(all.hashed_bytes, 7U);
  EXPECT_THAT(notes(all), IsEmpty());
  EXPECT_EQ(all.entries.notes[position(all, "d/e/c")], kHasHash);
  const TreeLook some = whole(sys::kernel(), 0, HashScope::kAll, 4);
  EXPECT_EQ(some.hashed_bytes, 4U) << "what fits is hashed";
  EXPECT_EQ(notes(some).size(), 1U);
  const TreeLook none = whole(sys::kernel(), 0, HashScope::kAll, 0);
  EXPECT_EQ(none.hashed_bytes, 0U);
  EXPECT_THAT(notes(none), ElementsAre("a: not hashed", "z: not hashed", "d/b: not hashed", "d/e/c: not hashed"));
  EXPECT_THAT(none.entries.hash, IsEmpty());
}

// A file that grows behind its size would let a tenant choose how long a capture reads.
TEST_F(Budget, IsNotExceededByAFileThatGrows) {
  int reads = 0;
  int stats = 0;
  SteppingCalls calls([&](const Step& step) {
    reads += step.call == "pread";
    // The second is asked for since the file is new.
    if (step.call == "statx" && step.path == "b" && ++stats == 2) fs::resize_file(dir_ / "d/b", 64 << 20);
    return 0;
  });
  const TreeLook seen = whole(calls, 0, HashScope::kAll, 1000);
  EXPECT_EQ(fs::file_size(dir_ / "d/b"), 64U << 20);
  EXPECT_LT(reads, 10) << "64 MiB were read";
  EXPECT_EQ(seen.hashed_bytes, 7U) << "its first two bytes, and those of the others";
  EXPECT_THAT(notes(seen), ElementsAre("d/b: not hashed"));
  EXPECT_EQ(seen.entries.size[position(seen, "d/b")], 64U << 20);
}

}  // namespace
}  // namespace vfsmend::test
