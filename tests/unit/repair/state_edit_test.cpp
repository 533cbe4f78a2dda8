// SPDX-License-Identifier: Apache-2.0
// Changes of a state keep its counts: what the guest looked up, one for each child, two for the root.
#include "repair/state_edit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <unordered_set>

#include "support/state_builder.h"

namespace vfsmend {
namespace {

using test::at;
using test::lost;
using test::root;
using test::state_of;

StateEdit edit_of(State state) { return StateEdit(Decoded{std::move(state), Dialect::kV2, 0}); }

std::uint64_t count_of(const StateEdit& edit, NodeId id) {
  for (const Inode& inode : edit.state().inodes) {
    if (inode.id == id) return inode.refcount;
  }
  return 0;
}

std::string place_of(const StateEdit& edit, NodeId id) {
  for (const Inode& inode : edit.state().inodes) {
    const auto* path = location_as<Path>(inode);
    if (inode.id == id && path) return std::to_string(path->parent) + ":" + std::string(path->filename);
  }
  return "";
}

TEST(StateEdit, DropTakesWhatHangsBelowAndTheParentsReference) {
  StateEdit edit = edit_of(state_of({root(4), at(2, 1, "d", 3), at(3, 2, "e", 2), at(4, 3, "f"), at(5, 2, "g")},
                                    {{0, 4, 0}, {1, 5, 0}}));
  EXPECT_TRUE(edit.drop_inodes({3}));
  EXPECT_EQ(edit.state().inodes.size(), 3U);
  ASSERT_EQ(edit.state().handles.size(), 1U);
  EXPECT_EQ(edit.state().handles[0].inode, 5U);
  EXPECT_EQ(count_of(edit, 2), 2U) << "one lookup, one child";
  EXPECT_EQ(count_of(edit, 1), 4U) << "not its child";
  EXPECT_FALSE(edit.drop_inodes({3, 1})) << "it is gone, and the root stays";
}

// A state that was never prepared has no references for its children.
TEST(StateEdit, DropTakesNoReferenceThatWasNeverThere) {
  StateEdit edit = edit_of(state_of({root(2), at(2, 1, "a")}));
  EXPECT_TRUE(edit.drop_inodes({2}));
  EXPECT_EQ(count_of(edit, 1), 2U);
}

TEST(StateEdit, RootIsWrittenWithRoomForItsChildren) {
  StateEdit edit = edit_of(state_of({lost(1, 1), at(2, 1, "a"), at(3, 1, "b")}));
  EXPECT_TRUE(edit.write_root());
  EXPECT_TRUE(location_as<RootNode>(edit.state().inodes[0]));
  EXPECT_EQ(count_of(edit, 1), 4U);
  EXPECT_FALSE(edit.write_root());
  StateEdit absent = edit_of(state_of({at(2, 1, "a")}));
  EXPECT_TRUE(absent.write_root());
  EXPECT_EQ(count_of(absent, 1), 3U);
  EXPECT_EQ(absent.state().inodes[0].id, kRootId);
}

TEST(StateEdit, DropLostLeavesWhatHasAPlace) {
  StateEdit edit = edit_of(state_of({lost(1, 2), lost(2), lost(3)}, {{0, 1, 0}, {1, 3, 2}}));
  EXPECT_TRUE(edit.drop_lost());
  EXPECT_EQ(edit.state().inodes.size(), 1U);
  EXPECT_TRUE(edit.state().handles.empty());
}

TEST(StateEdit, FlattenGivesLostInodesPathsFromTheRoot) {
  StateEdit edit = edit_of(state_of({lost(1, 2), lost(2), lost(3), lost(4)}, {{0, 1, 0200000}, {1, 3, 2}, {2, 4, 0}}));
  EXPECT_TRUE(edit.flatten(std::vector<PlacedNode>{{2, "d", 0}, {3, "d/e/f", 0}, {9, "not there", 0}, {1, "x", 0}}));
  EXPECT_TRUE(location_as<RootNode>(edit.state().inodes[0]));
  EXPECT_EQ(count_of(edit, 1), 4U) << "two of its own, two children";
  EXPECT_EQ(place_of(edit, 2), "1:d");
  EXPECT_EQ(place_of(edit, 3), "1:d/e/f");
  EXPECT_TRUE(location_as<Invalid>(edit.state().inodes[3])) << "not in the map";
  EXPECT_EQ(edit.state().handles.size(), 3U);
  EXPECT_FALSE(edit.flatten(std::vector<PlacedNode>{{2, "elsewhere", 0}})) << "what has a place keeps it";
  EXPECT_FALSE(edit.flatten({}));
  const ByteVector bytes = edit.bytes();
  const auto decoded = decode(bytes, Reader::kVirtiofsd);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->state.inodes.size(), 4U);
}

TEST(StateEdit, FlattenKeepsCountsThatAreHighEnough) {
  StateEdit edit = edit_of(state_of({root(9), at(2, 1, "a"), lost(3, 5)}));
  EXPECT_TRUE(edit.flatten(std::vector<PlacedNode>{{3, "b", 0}}));
  EXPECT_EQ(count_of(edit, 1), 9U);
  EXPECT_EQ(count_of(edit, 3), 5U) << "what the guest looked up";
}

TEST(StateEdit, HandlesOnNothingAndTheFirstOfTwoGo) {
  StateEdit edit = edit_of(state_of({root(3), at(2, 1, "a")}, {{0, 99, 0}, {1, 2, 0}, {1, 2, 2}, {2, 2, 0}}));
  EXPECT_TRUE(edit.drop_handles(0));
  EXPECT_TRUE(edit.drop_handles(1));
  EXPECT_FALSE(edit.drop_handles(2));
  ASSERT_EQ(edit.state().handles.size(), 2U);
  EXPECT_EQ(edit.state().handles[0].flags, 2) << "the last wins in a loader";
}

TEST(StateEdit, IdsAreRaisedAndNeverLowered) {
  State state = state_of({root(3), at(7, 1, "a")}, {{5, 7, 0}});
  state.next_inode = 3;
  StateEdit edit = edit_of(std::move(state));
  EXPECT_TRUE(edit.raise_next_ids());
  EXPECT_EQ(edit.state().next_inode, 8U);
  EXPECT_EQ(edit.state().next_handle, 1000U);
  EXPECT_FALSE(edit.raise_next_ids());
}

// With a lower one a dead descriptor of the guest would read another file's attributes.
TEST(StateEdit, IdsAreRaisedAboveWhatWasDropped) {
  State state = state_of({root(3), lost(7)}, {{5, 7, 0}, {9, 20, 0}});
  state.next_inode = 2;
  state.next_handle = 0;
  StateEdit edit = edit_of(std::move(state));
  EXPECT_TRUE(edit.drop_lost());
  EXPECT_TRUE(edit.raise_next_ids());
  EXPECT_EQ(edit.state().next_inode, 21U);
  EXPECT_EQ(edit.state().next_handle, 10U);
  State most = state_of({root(2), at(UINT64_MAX, 1, "a")});
  most.next_inode = UINT64_MAX;
  StateEdit last = edit_of(std::move(most));
  EXPECT_FALSE(last.raise_next_ids()) << "nothing is above it";
}

TEST(StateEdit, PathGoesIntoADirectoryOfTheStateOrFromTheRoot) {
  StateEdit edit = edit_of(state_of({root(5), at(2, 1, "d", 2), at(3, 2, "f"), at(4, 1, "e", 1)}));
  EXPECT_TRUE(edit.rewrite_path(3, "e/g"));
  EXPECT_EQ(place_of(edit, 3), "4:g");
  EXPECT_EQ(count_of(edit, 2), 1U);
  EXPECT_EQ(count_of(edit, 4), 2U);
  EXPECT_TRUE(edit.rewrite_path(3, "not/known/g"));
  EXPECT_EQ(place_of(edit, 3), "1:not/known/g");
  EXPECT_EQ(count_of(edit, 4), 1U);
  EXPECT_EQ(count_of(edit, 1), 6U);
  EXPECT_FALSE(edit.rewrite_path(3, "not/known/g"));
  EXPECT_FALSE(edit.rewrite_path(1, "x")) << "the root has no name";
}

TEST(StateEdit, FullnameTakesAnAbsoluteNameAlong) {
  StateEdit edit(Decoded{state_of({root(4), {2, 1, Path{1, "hostdir-0", "/old/rw/hostdir-0"}, {}},
                                   {3, 1, Path{1, "/old/rw/data", "/old/rw/data"}, {}}, at(4, 1, "plain")}),
                         Dialect::kCubeV1, 0});
  const auto names = [&](NodeId id) {
    const auto* path = location_as<Path>(edit.state().inodes[id - 1]);
    return std::string(path->filename) + " " + std::string(path->fullname);
  };
  EXPECT_TRUE(edit.rewrite_fullname(2, "/new/rw/hostdir-0"));
  EXPECT_EQ(names(2), "hostdir-0 /new/rw/hostdir-0");
  EXPECT_TRUE(edit.rewrite_fullname(3, "/new/rw/data"));
  EXPECT_EQ(names(3), "/new/rw/data /new/rw/data");
  EXPECT_FALSE(edit.rewrite_fullname(3, "/new/rw/data"));
  EXPECT_FALSE(edit.rewrite_fullname(4, "/new/rw/x")) << "no filter inode";
  EXPECT_FALSE(edit.rewrite_fullname(1, "/new/rw/x"));
  EXPECT_EQ(count_of(edit, 1), 4U);
}

TEST(StateEdit, CountsAndFlags) {
  StateEdit edit = edit_of(state_of({root(2), at(2, 1, "d", 0), at(3, 2, "f")}, {{0, 3, 0x402}}));
  EXPECT_TRUE(edit.correct_count(1));
  EXPECT_EQ(count_of(edit, 1), 3U);
  EXPECT_TRUE(edit.correct_count(2));
  EXPECT_EQ(count_of(edit, 2), 2U);
  EXPECT_FALSE(edit.correct_count(2));
  EXPECT_TRUE(edit.change_flags(0, 2));
  EXPECT_FALSE(edit.change_flags(0, 2));
}

// Whatever is dropped, no count falls below what the children need.
RC_GTEST_PROP(StateEdit, DropKeepsCountsSound, ()) {
  std::vector<Inode> inodes = {root(2)};
  const int size = *rc::gen::inRange(2, 30);
  for (int id = 2; id < size; ++id) {
    const auto parent = static_cast<NodeId>(*rc::gen::inRange(1, id));
    const auto lookups = static_cast<std::uint64_t>(*rc::gen::inRange(1, 3));
    inodes.push_back(at(static_cast<NodeId>(id), parent, "n", lookups));
    ++inodes[parent - 1].refcount;
  }
  StateEdit edit = edit_of(state_of(std::move(inodes)));
  std::unordered_set<NodeId> ids;
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) ids.insert(static_cast<NodeId>(*rc::gen::inRange(1, 32)));
  (void)edit.drop_inodes(ids);
  for (const Inode& inode : edit.state().inodes) {
    std::uint64_t children = inode.id == kRootId ? 2 : 1;
    for (const Inode& other : edit.state().inodes) {
      const auto* path = location_as<Path>(other);
      children += path && path->parent == inode.id ? 1 : 0;
    }
    RC_ASSERT(inode.refcount >= children);
    const auto* path = location_as<Path>(inode);
    if (path) RC_ASSERT(count_of(edit, path->parent) > 0U);
  }
}

}  // namespace
}  // namespace vfsmend
