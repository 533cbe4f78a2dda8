// SPDX-License-Identifier: Apache-2.0
// A guest that knows a tree, damage to its state, and a repair that has to hold before a real
// daemon.
#pragma once

#include <fcntl.h>

#include <string>
#include <vector>

#include "scenario.h"
#include "state/codec.h"

namespace vfsmend::test {

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

}  // namespace vfsmend::test
