// SPDX-License-Identifier: Apache-2.0
// The host has the last word on a node map: names and inode numbers of a real directory.
#include "manifest/nodemap_check.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "support/temp_dir.h"
#include "sys/unique_fd.h"

namespace vfsmend {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NodeMapOnHost : public testing::Test {
 protected:
  [[nodiscard]] std::uint64_t ino(const std::string& name) const {
    struct stat s {};
    EXPECT_EQ(::lstat((dir_ / ("S/" + name)).c_str(), &s), 0) << name;
    return s.st_ino;
  }
  void map(NodeId node, const std::string& path, std::uint64_t ino, bool deleted = false,
           std::int32_t nlink = 1) {
    NodeMapEntry entry;
    entry.node = node;
    entry.path = path;
    entry.ino = ino;
    entry.deleted = deleted;
    entry.nlink = nlink;
    map_.entries.push_back(entry);
  }
  NodeMapCheck check() {
    const sys::UniqueFd share(::open((dir_ / "S").c_str(), O_PATH | O_DIRECTORY));
    return check_node_map(sys::kernel(), share.get(), map_);
  }
  // "7:a/b", of those that count.
  std::vector<std::string> placed() {
    std::vector<std::string> out;
    for (const PlacedNode& node : check().placed) {
      out.push_back(std::to_string(node.node) + ":" + node.path);
    }
    return out;
  }
  // "7:why", of the others.
  std::vector<std::string> refused() {
    std::vector<std::string> out;
    for (const RefusedNode& node : check().refused) {
      out.push_back(std::to_string(node.node) + ":" + node.reason);
    }
    return out;
  }

  test::TempDir dir_;
  NodeMap map_;
};

TEST_F(NodeMapOnHost, WhatHasItsNumberCounts) {
  dir_.write("S/a", "1");
  dir_.write("S/d/e/f", "2");
  map(1, "", ino(""));
  map(7, "a", ino("a"));
  map(8, "d/e/f", ino("d/e/f"));
  map(9, "d", ino("d"));
  EXPECT_THAT(placed(), ElementsAre("7:a", "8:d/e/f", "9:d"));
  EXPECT_TRUE(S_ISREG(check().placed[1].mode));
  EXPECT_TRUE(S_ISDIR(check().placed[2].mode));
  EXPECT_TRUE(check().refused.empty());
}

TEST_F(NodeMapOnHost, GoneMovedOrReplacedDoesNot) {
  dir_.write("S/a", "1");
  dir_.write("S/b", "2");
  map(2, "a", ino("b"));
  map(3, "none", 77);
  map(4, "a/below", 77);
  EXPECT_THAT(refused(), ElementsAre(HasSubstr("2:another object: inode number "),
                                     "3:No such file or directory", "4:Not a directory"));
  EXPECT_THAT(placed(), ElementsAre());
}

TEST_F(NodeMapOnHost, NoLinkIsFollowed) {
  dir_.write("S/d/f", "1");
  dir_.write("outside/f", "2");
  const std::uint64_t inside = ino("d/f");
  std::filesystem::rename(dir_ / "S/d", dir_ / "S/moved");
  std::filesystem::create_symlink("moved", dir_ / "S/d");
  std::filesystem::create_symlink("moved/f", dir_ / "S/link");
  std::filesystem::create_symlink(dir_ / "outside", dir_ / "S/out");
  map(2, "d/f", inside);  // the very object, and yet by a link that was swapped in
  map(3, "link", inside);
  map(4, "out/f", ino("../outside/f"));
  map(5, "link", ino("link"));  // a link that the guest had itself (O_PATH)
  EXPECT_THAT(placed(), ElementsAre("5:link"));
  EXPECT_THAT(refused(), ElementsAre(HasSubstr("2:Too many levels"), HasSubstr("3:another object"),
                                     HasSubstr("4:Too many levels")));
}

TEST_F(NodeMapOnHost, PathsThatLeaveOrAreNoneDoNot) {
  dir_.write("S/a", "1");
  dir_.write("outside", "2");
  const std::uint64_t a = ino("a");
  map(2, "../outside", ino("../outside"));
  map(3, "/a", a);
  map(4, "d/../a", a);
  map(5, "./a", a);
  map(6, "a/", a);
  map(7, "", a);
  map(8, std::string("a\0b", 3), a);
  map(9, "\xff", a);
  EXPECT_THAT(placed(), ElementsAre());
  EXPECT_EQ(refused().size(), 8U);
  EXPECT_THAT(check().refused[0].reason, "no plain path below the share");
  EXPECT_THAT(check().refused[7].reason, "a name that is not UTF-8: no state can hold it");
}

TEST_F(NodeMapOnHost, UnlinkedIsNotFoundAgainUnderItsOldName) {
  dir_.write("S/a", "1");
  dir_.write("S/b (deleted)", "2");
  dir_.write("S/c", "3");
  map(2, "a", ino("a"), true, 0);  // the number may have been used again
  map(3, "b", ino("b (deleted)"), true);
  map(4, "c", ino("c"), true, 1);
  map(5, "d", ino("c"), true, 1);
  EXPECT_THAT(refused(), ElementsAre("2:unlinked", "5:No such file or directory"));
  EXPECT_THAT(placed(), ElementsAre("3:b (deleted)", "4:c"))
      << "a file that is really called so, and one at which only the guest's look went wrong";
}

TEST_F(NodeMapOnHost, OneGoodNameOfManyIsEnough) {
  dir_.write("S/a", "1");
  std::filesystem::create_hard_link(dir_ / "S/a", dir_ / "S/b");
  const std::uint64_t a = ino("a");
  map(2, "gone", a);
  map(2, "b", a);
  map(2, "b", a);
  map(2, "a", a);
  EXPECT_THAT(placed(), ElementsAre("2:b"));
  EXPECT_THAT(refused(), ElementsAre());
}

TEST_F(NodeMapOnHost, TwoNodesCannotBeOneFile) {
  dir_.write("S/a", "1");
  dir_.write("S/b", "1");
  map(2, "a", ino("a"));
  map(3, "a", ino("a"));
  map(4, "b", ino("b"));
  EXPECT_THAT(placed(), ElementsAre("4:b"));
  EXPECT_THAT(refused(),
              ElementsAre("2:another node has the same path", "3:another node has the same path"));
}

}  // namespace
}  // namespace vfsmend
