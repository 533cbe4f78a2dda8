// SPDX-License-Identifier: Apache-2.0
// The rows of table_test.cpp: what is done to a healthy state, and what a repair has to leave of it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "state/fs_state.h"
#include "verdict/destination.h"

namespace vfsmend::test {

using Change = std::function<void(State&)>;

inline void nothing(State&) {}

struct Row {
  const char* name = "";
  Change damage = nothing;    // of the healthy state, as the guest's daemon saved it
  Change expected = nothing;  // of the healthy state too: what the repair has to leave
  const char* mode = "-p";     // the consent that it takes: -p refuses what has casualties
  bool partly_safe = false;    // -p does some of it
  bool fails_before = true;    // the real daemon refuses the damaged state
  OnError policy = OnError::kAbort;
  bool unlinked = false;       // the guest removes x before the pause
  const char* host = "";       // a command in the share between pause and resume
  bool captured = false;
  bool trailing = false;
  bool writeback = false;
  bool mapped = false;         // a node map of what is open is at hand
};

inline Inode& inode_at(State& state, std::string_view name) {
  for (Inode& inode : state.inodes) {
    const auto* path = location_as<Path>(inode);
    if (name.empty() ? inode.id == kRootId : path && path->filename == name) return inode;
  }
  ADD_FAILURE() << "no inode " << name;
  return state.inodes.front();
}

inline void lose_all(State& state) {
  for (Inode& inode : state.inodes) {
    inode.location = Invalid{};
    inode.refcount = inode.id == kRootId ? 2 : 1;  // nothing was prepared: no references of children
  }
}

// What is open, from the root: no ids of directories are needed on the way.
inline void flat(State& state) {
  std::erase_if(state.inodes, [](const Inode& inode) {
    const auto* path = location_as<Path>(inode);
    return inode.id != kRootId && !(path && (path->filename == "a" || path->filename == "c"));
  });
  for (Inode& inode : state.inodes) {
    auto* path = std::get_if<Path>(&inode.location);
    inode.refcount = path ? 1 : 4;
    if (path && path->filename == "c") *path = Path{kRootId, "d/e/c", {}};
  }
}

inline void root_alone(State& state) {
  state.inodes.resize(1);
  state.inodes[0].refcount = 2;
  state.handles.clear();
}

inline void drop(State& state, std::string_view name) {
  const Inode gone = inode_at(state, name);
  const NodeId parent = std::get<Path>(gone.location).parent;
  std::erase_if(state.inodes, [&](const Inode& inode) { return inode.id == gone.id; });
  std::erase_if(state.handles, [&](const Handle& handle) { return handle.inode == gone.id; });
  for (Inode& inode : state.inodes) inode.refcount -= inode.id == parent ? 1 : 0;
}

inline Handle& writer(State& state) {
  for (Handle& handle : state.handles) {
    if ((handle.flags & O_ACCMODE) == O_RDWR) return handle;
  }
  ADD_FAILURE() << "nothing is open for writing";
  return state.handles.front();
}

// What the guest's other names stand for is known.
inline void lose_subtree(State& state) {
  for (const char* name : {"c", "e", "b", "d"}) inode_at(state, name).location = Invalid{};
}

inline void lose_root_and_subtree(State& state) {
  lose_subtree(state);
  inode_at(state, "").location = Invalid{};
}

inline void drop_invalid(State& state) {
  std::erase_if(state.inodes, [](const Inode& inode) { return location_as<Invalid>(inode) != nullptr; });
}

inline const Row kRows[] = {
    {.name = "RootLost", .damage = [](State& s) { inode_at(s, "").location = Invalid{}; }},
    {.name = "RootMissing", .damage = [](State& s) { s.inodes.erase(s.inodes.begin()); }},
    {.name = "RootLostGuestError",
     .damage = lose_root_and_subtree,
     .expected = lose_subtree,
     .fails_before = false,
     .policy = OnError::kGuestError},
    {.name = "HandleOnNothing",
     .damage = [](State& s) { s.handles.push_back({std::exchange(s.next_handle, 100), 4711, O_RDONLY}); },
     .expected = [](State& s) { s.next_handle = 100; },
     .mode = "-y"},
    {.name = "HandleTwice",
     .damage = [](State& s) { s.handles.insert(s.handles.begin(), {writer(s).id, inode_at(s, "a").id, O_RDONLY}); },
     .fails_before = false},
    {.name = "CountOfTheRoot", .damage = [](State& s) { inode_at(s, "").refcount = 1; }},
    {.name = "CountOfAParent", .damage = [](State& s) { inode_at(s, "d").refcount = 1; }},
    {.name = "NextIds",
     .damage = [](State& s) { s.next_inode = 2; s.next_handle = 0; },
     .fails_before = false},
    {.name = "Moved",
     .expected = [](State& s) { std::get<Path>(inode_at(s, "e").location).filename = "z"; },
     .host = "mv d/e d/z",
     .captured = true},
    {.name = "TrailingBytes", .fails_before = false, .trailing = true},
    {.name = "Append", .damage = [](State& s) { writer(s).flags |= O_APPEND; }, .mode = "-y", .fails_before = false},
    {.name = "AppendOfCapturedSize",
     .damage = [](State& s) { writer(s).flags |= O_APPEND; },
     .fails_before = false,
     .captured = true},
    {.name = "Direct", .damage = [](State& s) { writer(s).flags |= O_DIRECT; }, .fails_before = false},
    {.name = "WriteOnlyUnderWriteback",
     .damage = [](State& s) { s.options.writeback = true; writer(s).flags ^= O_RDWR ^ O_WRONLY; },
     .expected = [](State& s) { s.options.writeback = true; },
     .fails_before = false,
     .writeback = true},
    {.name = "GoneAndUnreferenced", .expected = [](State& s) { drop(s, "b"); }, .host = "rm d/b"},
    {.name = "GoneAndOpen", .expected = [](State& s) { drop(s, "c"); }, .mode = "-y", .host = "rm d/e/c"},
    {.name = "DeadAndUnreferenced", .expected = drop_invalid, .unlinked = true},
    {.name = "AllLostFlat", .damage = lose_all, .expected = flat, .mapped = true},
    {.name = "AllLostDropped", .damage = lose_all, .expected = root_alone, .mode = "-y"},
    // The guest holds the ids that are dropped, too: no new file may get one of them.
    {.name = "AllLostNextIdsToo",
     .damage = [](State& s) { lose_all(s); s.next_inode = 2; s.next_handle = 0; },
     .expected = root_alone,
     .mode = "-y",
     .partly_safe = true},
    {.name = "HandleOnNothingNextIdToo",
     .damage = [](State& s) { s.handles.push_back({s.next_handle++, 4711, O_RDONLY}); s.next_handle = 0; },
     .expected = [](State& s) { ++s.next_handle; s.next_inode = 4712; },
     .mode = "-y",
     .partly_safe = true},
    {.name = "AllLostDroppedNothingOpen",
     .damage = [](State& s) { lose_all(s); s.handles.clear(); },
     .expected = root_alone},
};

inline void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

}  // namespace vfsmend::test
