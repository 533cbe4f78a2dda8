// SPDX-License-Identifier: Apache-2.0
// The order of a load, against the loader's own way of finding it: the list, pass by pass.
#include "verdict/load_order.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "support/state_builder.h"
#include "verdict/index_set.h"

namespace vfsmend::test {
namespace {

// What virtiofsd does, as plainly as it can be said; quadratic.
LoadOrder literally(const State& state) {
  LoadOrder out;
  std::map<NodeId, std::pair<EntryIndex, std::uint64_t>> store;
  std::vector<EntryIndex> list;
  for (EntryIndex i = 0; i < state.inodes.size(); ++i) list.push_back(i);
  while (!list.empty()) {
    bool any = false;
    for (std::size_t i = 0; i < list.size();) {
      const EntryIndex entry = list[i];
      const Inode& inode = state.inodes[entry];
      const auto* path = location_as<Path>(inode);
      const auto done = [&](GraphError error) {
        out.taken.push_back(entry);
        out.error = error;
      };
      if (location_as<RootNode>(inode) && inode.id != kRootId) {
        return done(GraphError::kSecondRoot), out;
      }
      if (inode.id == kRootId && (path || location_as<FullPath>(inode))) {
        return done(GraphError::kRootGivenPath), out;
      }
      if (path || location_as<FullPath>(inode)) {
        const auto parent = store.find(path ? path->parent : kRootId);
        if (parent == store.end() || (!path && parent->second.second == 0)) {
          ++i;
          continue;
        }
        if (path) {
          if (parent->second.second > 0) --parent->second.second;
          if (parent->second.second == 0) store.erase(parent);
        }
      }
      if (!store.emplace(inode.id, std::pair(entry, inode.refcount)).second) {
        return done(GraphError::kDoubleUse), out;
      }
      out.taken.push_back(entry);
      any = true;
      list[i] = list.back();
      list.pop_back();
    }
    if (!any) {
      out.error = GraphError::kUnresolved;
      return out;
    }
  }
  return out;
}

State random_state() {
  static const std::string_view kName = "x";
  const auto small = rc::gen::inRange<std::uint64_t>(0, 9);
  State state;
  const int inodes = *rc::gen::inRange(0, 14);
  for (int i = 0; i < inodes; ++i) {
    const NodeId id = *small;
    const std::uint64_t refcount = *rc::gen::inRange<std::uint64_t>(0, 5);
    switch (*rc::gen::weightedElement<int>({{7, 1}, {3, 0}, {1, 2}, {1, 3}})) {
      case 0: state.inodes.push_back({*rc::gen::weightedElement<NodeId>({{9, 1}, {1, 3}}),
                                      refcount, RootNode{}, {}});
        break;
      case 1: state.inodes.push_back({id, refcount, Path{*small, kName, {}}, {}}); break;
      case 2: state.inodes.push_back({id, refcount, Invalid{}, {}}); break;
      default: state.inodes.push_back({id, refcount, FullPath{kName}, {}});
    }
  }
  return state;
}

RC_GTEST_PROP(LoadOrder, IsTheLoadersOwn, ()) {
  const State state = random_state();
  const LoadOrder want = literally(state);
  const LoadOrder got = load_order(state, NodeIndex(state));
  RC_ASSERT(got.error == want.error);
  RC_ASSERT(got.taken == want.taken);
}

RC_GTEST_PROP(IndexSet, FindsWhatASetFinds, ()) {
  const std::size_t size = *rc::gen::element<std::size_t>(1, 64, 65, 4096, 300000);
  IndexSet set(size);
  std::set<std::size_t> want;
  for (const std::size_t raw : *rc::gen::arbitrary<std::vector<std::size_t>>()) {
    const std::size_t i = raw * 2654435761U % size;
    if (want.contains(i)) {
      set.erase(i);
      want.erase(i);
    } else {
      set.insert(i);
      want.insert(i);
    }
    const std::size_t from = raw % size;
    const auto next = want.lower_bound(from);
    RC_ASSERT(set.next(from) == (next == want.end() ? IndexSet::kEnd : *next));
  }
}

// A chain found one entry a pass would take 5 * 10^9 steps at this depth.
TEST(LoadOrder, IsLinearInTheDepthOfAChain) {
  State state = state_of({root(3)});
  constexpr NodeId kDepth = 100'000;
  for (NodeId id = 2; id <= kDepth; ++id) state.inodes.push_back(at(id, id - 1, "d", 2));
  const LoadOrder order = load_order(state, NodeIndex(state));
  EXPECT_EQ(order.error, GraphError::kNone);
  EXPECT_EQ(order.taken.size(), kDepth);
}

}  // namespace
}  // namespace vfsmend::test
