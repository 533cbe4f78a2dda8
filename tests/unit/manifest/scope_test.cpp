// SPDX-License-Identifier: Apache-2.0
// Which names a capture looks at, of states that are well formed and of those that are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "manifest/scope.h"
#include "support/state_builder.h"

namespace vfsmend::test {
namespace {

using testing::ElementsAre;
using Paths = std::unordered_map<NodeId, std::string>;

// "lib/a=3*": path, node, and a star where the guest has it open; in the order of the scope.
std::vector<std::string> lines(const Scope& scope) {
  std::vector<std::string> out;
  std::vector<std::string> path(scope.names().size());
  for (std::uint32_t i = 0; i < scope.names().size(); ++i) {
    const Scope::Name& name = scope.names()[i];
    if (i > 0) {
      EXPECT_LT(name.parent, i) << "a directory comes before what is in it";
      const auto [begin, end] = scope.children(name.parent);
      EXPECT_TRUE(begin <= i && i < end);
      const bool top = name.parent == 0;
      path[i] = top ? name.text : path[name.parent] + "/" + name.text;
    }
    out.push_back(path[i] + "=" + std::to_string(name.node) + (name.open ? "*" : ""));
  }
  return out;
}

std::vector<std::string> scope_of(const State& state, const Paths& paths = {}) {
  const NodeIndex index(state);
  Scope scope(state, index, paths);
  scope.finish();
  return lines(scope);
}

TEST(Scope, OfNothingIsTheShare) {
  Scope scope;
  scope.finish();
  EXPECT_THAT(lines(scope), ElementsAre("=0"));
  EXPECT_THAT(scope_of(state_of({})), ElementsAre("=0"));
}

TEST(Scope, NamesOfADirectoryAreSortedAsBytes) {
  const State state = state_of({root(9), at(2, 1, "b"), at(3, 1, "a"), at(4, 1, "B"),
                                at(5, 1, "\xc3\xa9"), at(6, 2, "z"), at(7, 2, "y"), at(8, 3, "x")},
                               {{0, 6, 2}});
  EXPECT_THAT(scope_of(state), ElementsAre("=1", "B=4", "a=3", "b=2", "\xc3\xa9=5", "a/x=8", "b/y=7",
                                           "b/z=6*"));
}

TEST(Scope, ParentsMayComeAfterTheirChildren) {
  const State state = state_of({at(5, 4, "c"), at(4, 3, "b"), at(3, 1, "a"), root(3)});
  EXPECT_THAT(scope_of(state), ElementsAre("=1", "a=3", "a/b=4", "a/b/c=5"));
}

TEST(Scope, WhatLeadsNowhereIsLeftOut) {
  const State state = state_of({root(3), at(2, 3, "x"), at(3, 2, "y"),  // a circle
                                at(4, 4, "self"), at(5, 99, "orphan"), lost(6), at(7, 6, "of-the-lost"),
                                at(8, 1, ".."), at(9, 8, "below-dots"), at(10, 1, ""),
                                at(11, 1, std::string_view("n\0l", 3)), at(12, 1, "kept")},
                               {{0, 2, 0}, {1, 6, 0}, {2, 77, 0}});
  EXPECT_THAT(scope_of(state), ElementsAre("=1", "kept=12"));
}

TEST(Scope, HangsNothingBelowACircle) {
  const State state = state_of({root(3), at(2, 3, "x"), at(3, 2, "y"), at(4, 3, "in"), at(5, 4, "in")});
  EXPECT_THAT(scope_of(state), ElementsAre("=1"));
}

TEST(Scope, NamesWithSlashesAreSeveralComponents) {
  const State state = state_of({root(3), at(2, 1, "a/b//./c"), at(3, 2, "d/"), at(4, 1, "a/../e")});
  EXPECT_THAT(scope_of(state), ElementsAre("=1", "a=0", "a/b=0", "a/b/c=2", "a/b/c/d=3"));
}

TEST(Scope, FullPathsBeginAtTheShare) {
  const State state = state_of({root(3), full(2, "d/e/f"), full(3, "d/e"), full(4, "../f"), at(5, 3, "g")},
                               {{0, 2, 1}});
  EXPECT_THAT(scope_of(state), ElementsAre("=1", "d=0", "d/e=3", "d/e/f=2*", "d/e/g=5"));
}

TEST(Scope, BindsOfCubeSandboxStandWhole) {
  State state = state_of({root(3), at(2, 1, "hostdir-0"), at(3, 2, "a"), at(4, 1, "plain")});
  std::get<Path>(state.inodes[1].location).fullname = "/data/../rw/hostdir-0";
  std::get<Path>(state.inodes[3].location).fullname = "relative/is/no/bind";
  EXPECT_THAT(scope_of(state),
              ElementsAre("=1", "/data/../rw/hostdir-0=2", "plain=4", "/data/../rw/hostdir-0/a=3"));
}

TEST(Scope, OneIdThatStandsTwiceHasTheFirstPlace) {
  const State state = state_of({root(3), at(2, 1, "first"), at(2, 1, "second"), at(3, 2, "in")});
  EXPECT_THAT(scope_of(state), ElementsAre("=1", "first=2", "first/in=3"));
}

TEST(Scope, InodesByHandleStandWhereTheyWereFound) {
  const State state = state_of({root(3), by_handle(2, {}), by_handle(3, {}), at(4, 2, "in"), at(5, 3, "in")},
                               {{0, 2, 0}});
  EXPECT_THAT(scope_of(state, {{2, "d/e"}}), ElementsAre("=1", "d=0", "d/e=2*", "d/e/in=4"));
}

// Its own entry is the share's; what else leads there does not take its place.
TEST(Scope, TheShareStaysTheRoot) {
  const State state = state_of({root(3), at(2, 1, "."), by_handle(3, {}), full(4, ""), at(5, 1, "a"),
                                at(6, 5, ".")});
  EXPECT_THAT(scope_of(state, {{3, ""}}), ElementsAre("=1", "a=5"));
}

TEST(Scope, AddedPathsShareTheirDirectories) {
  const State state = state_of({root(3), at(2, 1, "d")});
  const NodeIndex index(state);
  Scope scope(state, index, {});
  EXPECT_EQ(scope.add_path(0, "d//mnt/"), scope.add_path(0, "d/mnt"));
  EXPECT_NE(scope.add_path(0, "/../x"), kNoIndex) << "an absolute one stands whole";
  EXPECT_EQ(scope.add_path(0, "d/../mnt"), kNoIndex);
  EXPECT_EQ(scope.add_path(0, ""), 0U);
  scope.finish();
  EXPECT_THAT(lines(scope), ElementsAre("=1", "/../x=0", "d=2", "d/mnt=0"));
}

// Each the parent of the next; the last one first in the state.
TEST(Scope, AHundredThousandDirectoriesDeep) {
  constexpr NodeId kDepth = 100'000;
  for (const bool ascending : {true, false}) {
    std::vector<Inode> inodes = {root(3)};
    for (NodeId i = 0; i < kDepth; ++i) {
      const NodeId id = ascending ? 2 + i : 1 + kDepth - i;
      inodes.push_back(at(id, id - 1, "d"));
    }
    const State state = state_of(std::move(inodes));
    const NodeIndex index(state);
    Scope scope(state, index, {});
    scope.finish();
    ASSERT_EQ(scope.names().size(), kDepth + 1);
    for (std::uint32_t i = 1; i <= kDepth; ++i) {
      ASSERT_EQ(scope.names()[i].parent, i - 1);
      ASSERT_EQ(scope.names()[i].node, i + 1);
    }
  }
}

TEST(Scope, AnAddedPathMayBeDeep) {
  std::string path;
  for (int i = 0; i < 100'000; ++i) path += "d/";
  Scope scope;
  EXPECT_EQ(scope.add_path(0, path), 100'000U);
  scope.finish();
  EXPECT_EQ(scope.names().size(), 100'001U);
}

}  // namespace
}  // namespace vfsmend::test
