// SPDX-License-Identifier: Apache-2.0
// Repairs of states of a real virtiofsd, which then loads what was made of them (docs/restore.md,
// what can be mended), and takes it back.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "../unit/tools/run_tool.h"
#include "manifest/nodemap.h"
#include "scenario.h"
#include "state/codec.h"

namespace vfsmend::test {
namespace {

class Repairs : public Scenario {
 protected:
  // A guest that knows a tree, and has two files open.
  void know_a_tree() {
    write("a", "1");
    write("d/b", "2");
    write("d/e/c", "3");
    for (const char* path : {"a", "d/b"}) look_up(path);
    open("d/e/c", O_RDWR);
    open("a", O_RDONLY);
    a_ = look_up("a");
    c_ = look_up("d/e/c");
    pause();
  }
  NodeId a_ = 0;
  NodeId c_ = 0;

  // Changes the state as a damaged source would have written it.
  template <typename F>
  void damage(F change) {
    const ByteVector bytes = state_bytes();
    auto decoded = decode(bytes, Reader::kVirtiofsd);
    ASSERT_TRUE(decoded);
    change(decoded->state);
    save(encode(decoded->state, decoded->dialect));
  }

  // What `vfsmend nodemap` writes in a guest that has these open: by node id, the path and the inode
  // number of what lies there now. (tests/vm has the map of a real guest.)
  struct Known {
    NodeId node;
    std::string path;
    std::uint64_t off = 0;  // the number is wrong by that
  };
  std::vector<std::string> map_of(const std::vector<Known>& known) {
    NodeMap map;
    for (const Known& one : known) {
      struct stat s {};
      EXPECT_EQ(::lstat(at(one.path).c_str(), &s), 0) << one.path;
      NodeMapEntry entry;
      entry.node = one.node;
      entry.ino = s.st_ino + one.off;
      entry.path = one.path;
      map.entries.push_back(entry);
    }
    const std::string file = scratch("map");
    std::ofstream(file) << node_map_text(map);
    return {"--nodemap", file};
  }
  // Of a repair that is refused before there is a report.
  int repair_exit(std::vector<std::string> more) {
    more.insert(more.begin(), {"repair", "-y", "--profile", "virtiofsd", "--shared-dir", share()});
    more.push_back(snapshot());
    const ToolRun run = run_tool(more);
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err, "");
    return run.exit;
  }
  void lose_all() {
    damage([](State& state) {
      for (Inode& inode : state.inodes) inode.location = Invalid{};
    });
  }

  // A repair after which the real daemon loads, under abort and with nothing dead; twice is once;
  // and undone it is the original to the byte, with its times.
  Said repair_and_undo(const std::string& mode = "-y", std::vector<std::string> more = {}) {
    const ByteVector before = state_bytes();
    const std::string stamp = fingerprint_of_snapshot();
    Said said = repair(mode, more);
    if (said.exit == 1) {
      EXPECT_EQ(rehearse(), 0);
      const ByteVector mended = state_bytes();
      EXPECT_EQ(repair(mode, more).exit, 0) << "nothing is left to do";
      EXPECT_EQ(state_bytes(), mended);
    }
    if (!said.journal.empty()) {
      EXPECT_EQ(undo(said.journal), 0);
    }
    EXPECT_EQ(state_bytes(), before);
    EXPECT_EQ(fingerprint_of_snapshot(), stamp);
    return said;
  }
};

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

TEST_F(Repairs, V02_AllLocationsLostAndANodeMap) {
  know_a_tree();
  lose_all();
  const std::vector<std::string> map = map_of({{c_, "d/e/c"}, {a_, "a"}, {4711, "d/b"}});
  const Said said = repair_and_undo("-p", map);
  EXPECT_EQ(said.exit, 1) << "nothing is lost: " << said.json;
  ASSERT_EQ(repair("-p", map).exit, 1);
  const ByteVector bytes = state_bytes();
  const auto mended = decode(bytes, Reader::kVirtiofsd);
  ASSERT_TRUE(mended);
  EXPECT_EQ(mended->state.handles.size(), 2U) << "both are open still";
  std::map<NodeId, std::string> places;
  for (const Inode& inode : mended->state.inodes) {
    EXPECT_EQ(inode.refcount, inode.id == kRootId ? 4U : 1U);
    const auto* path = location_as<Path>(inode);
    places[inode.id] = path ? fmt::format("{}:{}", path->parent, path->filename) : "";
  }
  const std::map<NodeId, std::string> flat = {{1, ""}, {a_, "1:a"}, {c_, "1:d/e/c"}};
  EXPECT_EQ(places, flat);
}

TEST_F(Repairs, V02_WhatTheMapDoesNotHaveIsLost) {
  know_a_tree();
  lose_all();
  const std::vector<std::string> map = map_of({{c_, "d/e/c"}});
  EXPECT_EQ(repair("-n", map).exit, 4);
  const Said said = repair_and_undo("-y", map);
  EXPECT_EQ(said.exit, 1) << said.json;
  EXPECT_TRUE(said.mentions("handle 1 (O_RDONLY")) << said.json;
  EXPECT_FALSE(said.mentions("handle 0 (O_RDWR")) << said.json;
}

TEST_F(Repairs, V02_TheHostHasTheLastWordOnAMap) {
  know_a_tree();
  lose_all();
  std::vector<std::string> map = map_of({{c_, "d/e/c"}, {a_, "a", 1}});
  sh(fmt::format("mv {0} {0}.moved && ln -s {0}.moved {0}", at("d")));
  Said said = repair_and_undo("-y", map);
  EXPECT_EQ(said.exit, 1) << said.json;
  EXPECT_TRUE(said.mentions("the map's path /d/e/c: not used: Too many levels of symbolic links")) << said.json;
  EXPECT_TRUE(said.mentions("the map's path /a: not used: another object: inode number ")) << said.json;
  EXPECT_TRUE(said.mentions("handle 0 (O_RDWR")) << "as without a map: " << said.json;
  map.emplace_back("--redact-paths");
  said = repair("-n", map);
  EXPECT_FALSE(said.mentions("d/e/c"));
  EXPECT_FALSE(said.mentions("/a:")) << said.json;
}

TEST_F(Repairs, V02_AMapOfAnotherTypeIsNotUsed) {
  know_a_tree();
  lose_all();
  const Said said = repair_and_undo("-y", map_of({{c_, "d/e"}, {a_, "a"}}));
  EXPECT_EQ(said.exit, 1) << said.json;
  EXPECT_TRUE(said.mentions("/d/e: not used: it is a directory, and the guest used a regular file")) << said.json;
}

TEST_F(Repairs, V04_OneLostInodeAndANodeMap) {
  know_a_tree();
  damage([&](State& state) {
    for (Inode& inode : state.inodes) {
      if (inode.id == c_) inode.location = Invalid{};
    }
  });
  EXPECT_EQ(repair("-p").exit, 4) << "without a map it costs the open file";
  const std::vector<std::string> map = map_of({{c_, "d/e/c"}});
  EXPECT_EQ(repair_and_undo("-p", map).exit, 1);
  std::vector<std::string> milder = map;
  milder.insert(milder.end(), {"--on-error", "guest-error"});
  const Said said = repair_and_undo("-p", milder);
  EXPECT_EQ(said.exit, 1) << "it would resume, with a stub: " << said.json;
}

TEST_F(Repairs, AMapThatIsNoneIsRefused) {
  know_a_tree();
  lose_all();
  std::ofstream(scratch("map")) << "{}";
  const ByteVector before = state_bytes();
  EXPECT_EQ(repair_exit({"--nodemap", scratch("map")}), 16);
  EXPECT_EQ(repair_exit({"--nodemap", scratch("none")}), 16);
  EXPECT_EQ(repair_exit({"--device", "raw"}), 16);
  std::vector<std::string> other = map_of({{2, "a"}});
  other.insert(other.end(), {"--device", "other"});
  EXPECT_EQ(repair_exit(other), 16);
  EXPECT_EQ(state_bytes(), before);
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
