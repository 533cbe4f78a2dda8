// SPDX-License-Identifier: Apache-2.0
// A real virtiofsd: a guest's session, its state out of one daemon and into another, and what the
// log says of loads that fail.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "daemon/daemon_log.h"
#include "daemon/fuse_session.h"
#include "daemon/migrate.h"
#include "daemon/virtiofsd.h"
#include "state/codec.h"
#include "support/temp_dir.h"
#include "support/testbed.h"

namespace vfsmend::daemon {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;
using vfsmend::test::TempDir;

constexpr std::chrono::seconds kPatience{20};
const char* const kProgram = "virtiofsd-1.13.2";

sys::Deadline soon() { return sys::Deadline::in(kPatience); }

template <typename T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().text;
    return T{};
  }
  return std::move(*result);
}
void must(const Result<void>& result) { EXPECT_TRUE(result) << (result ? "" : result.error().text); }

// "path of parent id", id, lookups: what a test says of an inode.
std::string told(const Inode& inode) {
  std::string where = "?";
  if (const auto* path = location_as<Path>(inode)) {
    where = std::to_string(path->parent) + "/" + std::string(path->filename);
  } else if (location_as<RootNode>(inode) != nullptr) {
    where = "root";
  }
  return std::to_string(inode.id) + " " + where + " x" + std::to_string(inode.refcount);
}
std::vector<std::string> inodes_of(const State& state) {
  std::vector<std::string> out;
  for (const Inode& inode : state.inodes) out.push_back(told(inode));
  return out;
}
std::map<HandleId, std::pair<NodeId, std::int32_t>> handles_of(const State& state) {
  std::map<HandleId, std::pair<NodeId, std::int32_t>> out;
  for (const Handle& handle : state.handles) out[handle.id] = {handle.inode, handle.flags};
  return out;
}

class RealVirtiofsd : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = vfsmend::test::why_no_testbed(kProgram);
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    share_.write("a.txt", "one");
    share_.write("d/b", "two");
  }

  [[nodiscard]] Virtiofsd started(std::vector<std::string> more = {}) const {
    VirtiofsdStart how{vfsmend::test::testbed_program(kProgram),
                       {"--shared-dir", share_.path(), "--sandbox=none", "--seccomp=none"},
                       sockets_.path(), false};
    how.args.insert(how.args.end(), more.begin(), more.end());
    auto daemon = Virtiofsd::start(how);
    if (!daemon) {
      ADD_FAILURE() << daemon.error().text;
      std::abort();
    }
    return std::move(*daemon);
  }
  // What `guest` does in a session, and the state that is left of it.
  template <typename Guest>
  [[nodiscard]] ByteVector state_after(const std::vector<std::string>& words, Guest guest) const {
    Virtiofsd daemon = started(words);
    const std::uint64_t features = must(greet(daemon.wire(), soon()));
    auto session = FuseSession::start(daemon.wire(), features, {}, kPatience);
    if (!session) {
      ADD_FAILURE() << daemon.explain(session.error()).text;
      return {};
    }
    guest(*session);
    must(session->stop());
    return must(save_state(daemon.wire(), soon()));
  }
  // A load into a daemon, and what it says of it.
  static DaemonLog load(Virtiofsd& daemon, Bytes state, bool& loaded) {
    loaded = must(load_state(daemon.wire(), state, soon())).loaded;
    std::uint64_t from = 0;
    return parse_log(must(daemon.log(from)));
  }

  TempDir share_;
  TempDir sockets_;
};

State decoded(Bytes bytes) {
  auto out = decode(bytes, Reader::kVirtiofsd);
  EXPECT_TRUE(out) << "the state cannot be decoded";
  return out ? std::move(out->state) : State{};
}

void work(FuseSession& guest) {
  const Looked a = must(guest.lookup(kRootId, "a.txt"));
  const Looked d = must(guest.lookup(kRootId, "d"));
  const Looked b = must(guest.lookup(d.node, "b"));
  EXPECT_EQ(must(guest.lookup(kRootId, "a.txt")).node, a.node) << "looked up twice";
  EXPECT_EQ(a.attributes.size, 3U);
  EXPECT_TRUE(S_ISDIR(d.attributes.mode));
  const Created made = must(guest.create(d.node, "new", O_RDWR, 0644));
  EXPECT_EQ(must(guest.write(made.looked.node, made.handle, 0, "hello world")), 11U);
  EXPECT_EQ(must(guest.read(made.looked.node, made.handle, 6, 100)), "world");
  EXPECT_EQ(must(guest.getattr(made.looked.node)).size, 11U);
  const HandleId read_only = must(guest.open(a.node, O_RDONLY));
  const HandleId closed = must(guest.open(a.node, O_WRONLY));
  (void)must(guest.opendir(d.node));
  EXPECT_EQ(must(guest.read(a.node, read_only, 0, 100)), "one");
  must(guest.rename(d.node, "new", kRootId, "renamed"));
  must(guest.setxattr(a.node, "user.test", "value"));
  must(guest.release(a.node, closed, false));
  must(guest.unlink(d.node, "b"));
  must(guest.forget(b.node, 1));
  const auto gone = guest.lookup(d.node, "b");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kSystem);
  EXPECT_EQ(gone.error().sys_errno, ENOENT);
}

TEST_F(RealVirtiofsd, ASessionChangesTheShareAndIsSaved) {
  const ByteVector bytes = state_after({"--xattr"}, work);
  EXPECT_EQ(vfsmend::test::read_text(share_ / "renamed"), "hello world");
  EXPECT_FALSE(std::filesystem::exists(share_ / "d/b"));
  std::array<char, 16> value{};
  EXPECT_EQ(::getxattr((share_ / "a.txt").c_str(), "user.test", value.data(), value.size()), 5);
  const State state = decoded(bytes);
  EXPECT_THAT(inodes_of(state), UnorderedElementsAre("1 root x5", "2 1/a.txt x2", "3 1/d x1",
                                                     "5 1/renamed x1"));
  EXPECT_THAT(handles_of(state), ElementsAre(Pair(0, Pair(5, O_RDWR)), Pair(1, Pair(2, O_RDONLY)),
                                             Pair(3, Pair(3, O_DIRECTORY))));
  EXPECT_EQ(state.next_inode, 6U);
  EXPECT_EQ(state.next_handle, 4U);
  EXPECT_FALSE(state.options.writeback) << "not switched on";
  EXPECT_TRUE(state.options.announce_submounts);
}

TEST_F(RealVirtiofsd, WhatOneSavesAnotherLoads) {
  const ByteVector bytes = state_after({"--xattr"}, work);
  Virtiofsd second = started();
  (void)must(greet(second.wire(), soon()));
  bool loaded = false;
  const DaemonLog log = load(second, bytes, loaded);
  EXPECT_TRUE(loaded);
  EXPECT_EQ(log.load_error, std::nullopt);
  EXPECT_EQ(log.other, "");
  const ByteVector again = must(save_state(second.wire(), soon()));
  const State before = decoded(bytes);
  const State after = decoded(again);
  EXPECT_THAT(inodes_of(after), testing::UnorderedElementsAreArray(inodes_of(before)));
  EXPECT_EQ(handles_of(after), handles_of(before));
}

TEST_F(RealVirtiofsd, WhyALoadFailsStandsInItsLogAndAnotherMayFollow) {
  const ByteVector bytes = state_after({}, [](FuseSession& guest) {
    (void)must(guest.lookup(kRootId, "a.txt"));
  });
  std::filesystem::rename(share_ / "a.txt", share_ / "aside");
  Virtiofsd second = started();
  (void)must(greet(second.wire(), soon()));
  bool loaded = true;
  const DaemonLog log = load(second, bytes, loaded);
  EXPECT_FALSE(loaded);
  EXPECT_EQ(log.load_error.value_or("?"),
            "Inode 2: Opening " + (share_ / "a.txt") + ": No such file or directory (os error 2)");
  std::filesystem::rename(share_ / "aside", share_ / "a.txt");
  (void)load(second, bytes, loaded);
  EXPECT_TRUE(loaded);
}

TEST_F(RealVirtiofsd, StubsStandInItsLog) {
  const ByteVector bytes = state_after({}, [](FuseSession& guest) {
    const Looked a = must(guest.lookup(kRootId, "a.txt"));
    (void)must(guest.open(a.node, O_RDONLY));
  });
  std::filesystem::remove(share_ / "a.txt");
  Virtiofsd second = started({"--migration-on-error=guest-error"});
  (void)must(greet(second.wire(), soon()));
  bool loaded = false;
  const DaemonLog log = load(second, bytes, loaded);
  EXPECT_TRUE(loaded);
  EXPECT_EQ(log.load_error, std::nullopt);
  const std::string why = "Opening " + (share_ / "a.txt") + ": No such file or directory (os error 2)";
  EXPECT_THAT(log.invalid_inodes, ElementsAre(Pair(2, why)));
  EXPECT_THAT(log.invalid_handles,
              ElementsAre(Pair(0, "Opening inode 2 as handle 0: Inode is invalid because of an error "
                                  "during the preceding migration, which was: " + why)));
}

TEST_F(RealVirtiofsd, ANameForgesNoRecord) {
  const std::string name = "x\n[2026-01-02T03:04:05Z ERROR a] Migration failed: Failed to "
                           "load state: no\n";
  const ByteVector bytes = state_after({}, [&](FuseSession& guest) {
    (void)must(guest.create(kRootId, name, O_RDWR, 0644));
  });
  std::filesystem::remove(share_ / name);
  Virtiofsd second = started();
  (void)must(greet(second.wire(), soon()));
  bool loaded = true;
  const DaemonLog log = load(second, bytes, loaded);
  EXPECT_FALSE(loaded);
  EXPECT_EQ(log.load_error.value_or("?"),
            "Inode 2: Opening " + (share_ / name) + ": No such file or directory (os error 2)");
}

TEST_F(RealVirtiofsd, BytesThatAreNoStateAreRefused) {
  Virtiofsd daemon = started();
  (void)must(greet(daemon.wire(), soon()));
  bool loaded = true;
  const DaemonLog log = load(daemon, as_bytes("\x01\x01\x01"), loaded);
  EXPECT_FALSE(loaded);
  EXPECT_EQ(log.load_error.value_or("?"), "Hit the end of buffer, expected more data");
}

TEST_F(RealVirtiofsd, SwitchesThatItDoesNotKnow) {
  Virtiofsd daemon = started({"--no-such-switch"});
  EXPECT_EQ(daemon.ended(soon()).value_or("runs"), "exit status 2");
  const auto features = greet(daemon.wire(), soon());
  ASSERT_FALSE(features);
  const std::string text = daemon.explain(features.error()).text;
  EXPECT_TRUE(text.starts_with("virtiofsd has ended (exit status 2) at GET_FEATURES: ")) << text;
  EXPECT_NE(text.find("--no-such-switch"), std::string::npos) << text;
}

TEST_F(RealVirtiofsd, InANamespaceOfItsOwn) {
  VirtiofsdStart how{vfsmend::test::testbed_program(kProgram),
                     {"--shared-dir", share_.path(), "--seccomp=none"}, sockets_.path(), true};
  auto daemon = Virtiofsd::start(how);
  ASSERT_TRUE(daemon) << daemon.error().text;
  (void)must(greet(daemon->wire(), soon()));
  EXPECT_EQ(daemon->ended(sys::Deadline::in(std::chrono::milliseconds(20))), std::nullopt);
  daemon->kill();
  EXPECT_EQ(daemon->ended(soon()).value_or("runs"), "signal 9 (Killed)");
}

TEST_F(RealVirtiofsd, TellsItsVersion) {
  EXPECT_EQ(must(version_of(vfsmend::test::testbed_program(kProgram), soon())), "1.13.2");
}

}  // namespace
}  // namespace vfsmend::daemon
