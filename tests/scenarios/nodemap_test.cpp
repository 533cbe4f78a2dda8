// SPDX-License-Identifier: Apache-2.0
// States of a real virtiofsd that lost locations, and a node map of the guest: what the daemon then
// loads. tests/vm has the map of a real guest; these are made of the ids that the daemon gave.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "../unit/tools/run_tool.h"
#include "manifest/nodemap.h"
#include "repairs.h"
#include "support/vm_snapshot_builder.h"

namespace vfsmend::test {
namespace {

class RepairsByMap : public Repairs {
 protected:
  // What `vfsmend nodemap` writes in a guest that has these open: by node id, the path and the
  // inode number of what lies there now. (tests/vm has the map of a real guest.)
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
};

TEST_F(RepairsByMap, V02_AllLocationsLostAndANodeMap) {
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

TEST_F(RepairsByMap, V02_WhatTheMapDoesNotHaveIsLost) {
  know_a_tree();
  lose_all();
  const std::vector<std::string> map = map_of({{c_, "d/e/c"}});
  EXPECT_EQ(repair("-n", map).exit, 4);
  const Said said = repair_and_undo("-y", map);
  EXPECT_EQ(said.exit, 1) << said.json;
  EXPECT_TRUE(said.mentions("handle 1 (O_RDONLY")) << said.json;
  EXPECT_FALSE(said.mentions("handle 0 (O_RDWR")) << said.json;
}

TEST_F(RepairsByMap, V02_TheHostHasTheLastWordOnAMap) {
  know_a_tree();
  lose_all();
  std::vector<std::string> map = map_of({{c_, "d/e/c"}, {a_, "a", 1}});
  sh(fmt::format("mv {0} {0}.moved && ln -s {0}.moved {0}", at("d")));
  Said said = repair_and_undo("-y", map);
  EXPECT_EQ(said.exit, 1) << said.json;
  EXPECT_TRUE(said.mentions("the map's path /d/e/c: not used: Too many levels of symbolic links"))
      << said.json;
  EXPECT_TRUE(said.mentions("the map's path /a: not used: another object: inode number "))
      << said.json;
  EXPECT_TRUE(said.mentions("handle 0 (O_RDWR")) << "as without a map: " << said.json;
  map.emplace_back("--redact-paths");
  said = repair("-n", map);
  EXPECT_FALSE(said.mentions("d/e/c"));
  EXPECT_FALSE(said.mentions("/a:")) << said.json;
}

TEST_F(RepairsByMap, V02_AMapOfAnotherTypeIsNotUsed) {
  know_a_tree();
  lose_all();
  const Said said = repair_and_undo("-y", map_of({{c_, "d/e"}, {a_, "a"}}));
  EXPECT_EQ(said.exit, 1) << said.json;
  EXPECT_TRUE(said.mentions("/d/e: not used: it is a directory, and the guest used a regular file"))
      << said.json;
}

TEST_F(RepairsByMap, V04_OneLostInodeAndANodeMap) {
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

TEST_F(RepairsByMap, AMapThatIsNoneIsRefused) {
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

// Node ids mean nothing on another mount: a map is of one device, and the others are left alone.
TEST_F(RepairsByMap, OfSeveralDevicesOneIsNamed) {
  know_a_tree();
  lose_all();
  const std::string numbers = json_numbers(state_bytes());
  const std::string folder = scratch("vm");
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json")
      << config_json({fs_json("fs0", "a", ""), fs_json("fs1", "b", "")});
  std::ofstream(folder + "/state.json")
      << ch_state_json({{"fs0", "a", numbers}, {"fs1", "b", numbers}});
  const std::vector<std::string> map = map_of({{c_, "d/e/c"}, {a_, "a"}});
  const auto repair_folder = [&](const std::string& mode, std::vector<std::string> more) {
    more.insert(more.begin(),
                {"repair", mode, "--share", "fs0=" + share(), "--share", "fs1=" + share()});
    more.insert(more.end(), map.begin(), map.end());
    more.push_back(folder);
    return run_tool(more);
  };
  const ToolRun which = repair_folder("-y", {});
  EXPECT_EQ(which.exit, 16);
  EXPECT_NE(which.err.find("one of fs0, fs1"), std::string::npos) << which.err;
  EXPECT_EQ(repair_folder("-y", {"--device", "fs2"}).exit, 16);
  EXPECT_EQ(repair_folder("-y", {"--device", "fs1"}).exit, 4) << "the other one is as it was";
  EXPECT_EQ(repair_folder("-y", {"--device", "fs0"}).exit, 1) << "nothing was lost of either";
  EXPECT_EQ(repair_folder("-n", {"--device", "fs0"}).exit, 0);
}

}  // namespace
}  // namespace vfsmend::test
