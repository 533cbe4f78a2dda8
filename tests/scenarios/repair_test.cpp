// SPDX-License-Identifier: Apache-2.0
// Repairs of states of a real virtiofsd, which then loads what was made of them (docs/restore.md,
// what can be mended), and takes it back.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "repairs.h"

namespace vfsmend::test {
namespace {

TEST_F(Repairs, HealthyStateIsLeftAlone) {
  know_a_tree();
  const Said said = repair_and_undo();
  EXPECT_EQ(said.exit, 0);
  EXPECT_EQ(said.journal, "");
}

TEST_F(Repairs, V02_AllLocationsLost) {
  know_a_tree();
  damage([](State& state) {
    for (Inode& inode : state.inodes) inode.location = Invalid{};
  });
  Said said = repair_and_undo("-p");
  EXPECT_EQ(said.exit, 4) << "it costs the open files, and that needs consent";
  EXPECT_EQ(said.journal, "");
  said = repair_and_undo();
  EXPECT_EQ(said.exit, 1) << said.json;
  EXPECT_TRUE(said.mentions("(O_RDWR"));
  EXPECT_TRUE(said.mentions("\"safe\":false"));
}

TEST_F(Repairs, V02_AllLocationsLostAndNothingOpen) {
  write("a", "1");
  look_up("a");
  pause();
  damage([](State& state) {
    for (Inode& inode : state.inodes) inode.location = Invalid{};
  });
  EXPECT_EQ(repair_and_undo("-p").exit, 1) << "nothing is lost by it";
}

TEST_F(Repairs, V02_OnlyTheRootIsLost) {
  know_a_tree();
  damage([](State& state) { state.inodes[0].location = Invalid{}; });
  EXPECT_EQ(repair_and_undo("-p").exit, 1);
}

TEST_F(Repairs, V02_NoState) {
  pause();
  save({});
  const Said said = repair("-y");
  EXPECT_EQ(said.exit, 2) << "coldboot: " << said.json;
  EXPECT_EQ(said.journal, "");
}

TEST_F(Repairs, V03_GoneAndNotOpen) {
  know_a_tree();
  sh("rm " + at("d/b"));
  EXPECT_EQ(repair_and_undo("-p").exit, 1);
}

TEST_F(Repairs, V03_GoneAndOpen) {
  know_a_tree();
  sh("rm -r " + at("d/e"));
  EXPECT_EQ(repair_and_undo("-p").exit, 4);
  EXPECT_EQ(repair_and_undo().exit, 1);
}

TEST_F(Repairs, V06_Moved) {
  know_a_tree();
  capture();
  sh(fmt::format("mv {} {}", at("d/e"), at("d/z")));
  const Said said = repair_and_undo("-p");
  EXPECT_EQ(said.exit, 1) << said.json;
  EXPECT_TRUE(said.mentions("rewrite the path in the state to d/z"));
}

TEST_F(Repairs, V06_MovedToWhereNoInodeOfTheStateIs) {
  know_a_tree();
  capture();
  sh(fmt::format("mkdir -p {0} && mv {1} {0}/far", at("x/y"), at("d/e")));
  EXPECT_EQ(repair_and_undo("-p", {"--search"}).exit, 1);
}

TEST_F(Repairs, HardLinksThatParted) {
  write("a", "1");
  sh(fmt::format("ln {} {}", at("a"), at("b")));
  open("a", O_RDWR);
  pause();
  capture();
  sh(fmt::format("cp -p {0} {1} && mv {1} {0}", at("a"), at("copy")));
  EXPECT_EQ(repair_and_undo("-p").exit, 1);
}

TEST_F(Repairs, V12_UnlinkedWhileOpen) {
  create("t.tmp", O_RDWR);
  unlink("t.tmp");
  pause();
  EXPECT_EQ(repair_and_undo("-p").exit, 4);
  EXPECT_EQ(repair_and_undo().exit, 1);
}

TEST_F(Repairs, V16_AppendKept) {
  create("log", O_RDWR | O_APPEND);
  pause();
  capture();
  EXPECT_EQ(repair_and_undo("-p").exit, 1) << "the size is that of the capture";
  write("log", "the host appended");
  EXPECT_EQ(repair_and_undo("-p").exit, 4) << "now it needs consent";
}

TEST_F(Repairs, V21_UnlinkedAndNotForgotten) {
  know_a_tree();
  start_daemon();
  for (const char* path : {"a", "d/b"}) look_up(path);
  unlink("a");
  pause();
  EXPECT_EQ(repair_and_undo("-p").exit, 1);
}

TEST_F(Repairs, CountsIdsOrphansAndTrailingBytes) {
  know_a_tree();
  damage([](State& state) {
    state.inodes[0].refcount = 1;
    state.next_inode = 2;
    state.next_handle = 0;
    state.handles.push_back({99, 4711, O_RDONLY});
  });
  ByteVector bytes = state_bytes();
  bytes.insert(bytes.end(), {1, 2, 3});
  save(bytes);
  EXPECT_EQ(repair_and_undo("-p").exit, 4) << "the orphan is a handle that is lost";
  EXPECT_EQ(repair_and_undo().exit, 1);
}

TEST_F(Repairs, WhatIsToBeRebuiltIsLeftAlone) {
  know_a_tree();
  capture();
  sh(fmt::format("rm {0} && printf 2 > {0} && rm {1}", at("d/b"), at("a")));
  const Said said = repair("-y");
  EXPECT_EQ(said.exit, 5) << said.json;
  EXPECT_EQ(said.journal, "");
}

TEST_F(Repairs, DryRunChangesNothing) {
  know_a_tree();
  sh("rm " + at("d/b"));
  const std::string before = fingerprint(std::filesystem::path(snapshot()).parent_path());
  const Said said = repair("-n");
  EXPECT_EQ(said.exit, 4);
  EXPECT_TRUE(said.mentions("\"applied\":false"));
  EXPECT_EQ(fingerprint(std::filesystem::path(snapshot()).parent_path()), before);
}

TEST_F(Repairs, UndoRefusesWhatWasChangedSince) {
  know_a_tree();
  sh("rm " + at("d/b"));
  const Said said = repair("-y");
  ASSERT_EQ(said.exit, 1);
  damage([](State& state) { state.next_handle += 5; });
  EXPECT_EQ(undo(said.journal), 8);
  EXPECT_EQ(undo(said.journal, {"-n", "-f"}), 0);
  EXPECT_EQ(undo(said.journal, {"-f"}), 0);
  EXPECT_FALSE(std::filesystem::exists(said.journal));
}

TEST_F(Repairs, OpenElsewhereIsRefused) {
  know_a_tree();
  sh("rm " + at("d/b"));
  // A process that is not ours: the worker of the repair inherits nothing.
  sh(fmt::format("sleep 30 < {} & echo $! > {}", snapshot(), scratch("pid")));
  const std::string pid = read_text(scratch("pid"));
  const Said said = repair("-y");
  EXPECT_EQ(said.exit, 8);
  EXPECT_TRUE(said.mentions("is open in process " + pid.substr(0, pid.find('\n')))) << said.json;
  EXPECT_EQ(repair("-y", {"--force"}).exit, 1);
  sh("kill " + pid);
}

TEST_F(Repairs, TwoAtOnce) {
  know_a_tree();
  sh("rm " + at("d/b"));
  const std::string folder = std::filesystem::path(snapshot()).parent_path();
  sh(fmt::format("flock {} sleep 30 & sleep 0.3; echo $! > {}", folder, scratch("pid")));
  const Said said = repair("-y");
  EXPECT_EQ(said.exit, 8);
  EXPECT_TRUE(said.mentions("another repair is at work: held by process")) << said.json;
  sh(fmt::format("pkill -P $(cat {0}); kill $(cat {0}) 2>/dev/null; true", scratch("pid")));
}

}  // namespace
}  // namespace vfsmend::test
