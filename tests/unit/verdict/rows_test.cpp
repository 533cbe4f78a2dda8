// SPDX-License-Identifier: Apache-2.0
// The table of failures in docs/restore.md, row by row: the text a loader gives, which policy it
// is subject to, and the code it is reported under. Rows 28 to 30 are failures of the transfer,
// which no state shows.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <memory>

#include "base/text.h"
#include "support/state_builder.h"
#include "support/temp_dir.h"
#include "sys/object_handle.h"
#include "verdict/restore_model.h"

namespace vfsmend::test {
namespace {

class Rows : public testing::Test {
 protected:
  void SetUp() override {
    dir_.write("a", "one");
    dir_.write("d/b", "two");
  }

  [[nodiscard]] Restore abort(const State& state, Destination to = virtiofsd()) const {
    return check_state(state, dir_.path(), std::move(to)).restore;
  }
  [[nodiscard]] Restore guest_error(const State& state) const {
    return abort(state, virtiofsd(OnError::kGuestError));
  }
  // The state fails under both policies, with the same text.
  void expect_hard(const State& state, const std::string& text,
                   const Destination& to = virtiofsd()) const {
    for (const OnError on_error : {OnError::kAbort, OnError::kGuestError}) {
      Destination with = to;
      with.on_error = on_error;
      const Restore restore = abort(state, with);
      EXPECT_EQ(restore.outcome, Outcome::kFails);
      EXPECT_EQ(restore.error.value_or(""), text);
    }
  }
  // Fails under abort with this text, and loads under guest-error with this inode a stub.
  void expect_policy(const State& state, const std::string& text, NodeId stub) const {
    const Restore strict = abort(state);
    EXPECT_EQ(strict.outcome, Outcome::kFails);
    EXPECT_EQ(strict.error.value_or(""), text);
    const Restore lenient = guest_error(state);
    EXPECT_EQ(lenient.outcome, Outcome::kSucceeds);
    EXPECT_EQ(lenient.invalid_inodes, std::vector<NodeId>{stub});
  }
  [[nodiscard]] Code only_code(const State& state, Destination to = virtiofsd()) const {
    const auto report = check_state(state, dir_.path(), std::move(to));
    EXPECT_EQ(report.findings.size(), 1U);
    return report.findings.empty() ? Code::kL001 : report.findings.front().code;
  }
  // The handle of a path as the kernel has it now; its bytes live in `store_`.
  FileHandle handle_of(const std::string& path) {
    store_.push_back(std::make_unique<sys::ObjectHandle>());
    sys::ObjectHandle& now = *store_.back();
    EXPECT_EQ(sys::object_handle(sys::kernel(), AT_FDCWD, path.c_str(), 0, now), 0) << path;
    return {static_cast<std::uint64_t>(now.mount_id), now.type, now.bytes()};
  }

  TempDir dir_;
  std::vector<std::unique_ptr<sys::ObjectHandle>> store_;
};

TEST_F(Rows, Row01BytesThatCannotBeDecoded) {
  const struct {
    ByteVector bytes;
    const char* text;
  } cases[] = {
      {{1, 1, 1}, "Hit the end of buffer, expected more data"},
      {{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2},
       "Found a varint that didn't terminate. Is the usize too big for this platform?"},
      {{1, 0, 2, 0, 0, 2, 0, 0, 0, 0}, "Found a bool that wasn't 0 or 1"},
      {{1, 1, 2, 1, 1, 1, 1, 0xff, 0, 2, 0, 0, 0, 0, 0, 0, 0}, "Tried to parse invalid utf-8"},
      {{1, 1, 1, 2, 0, 7, 2, 0, 0, 0, 0, 0, 0, 0},
       "Found an Option discriminant that wasn't 0 or 1"},
      {{7, 0, 2, 0, 0, 0, 0, 0, 0}, "Serde Deserialization Error"},
  };
  for (const auto& c : cases) {
    const auto report = check_bytes(c.bytes, dir_.path(), virtiofsd());
    EXPECT_EQ(report.restore.outcome, Outcome::kFails) << c.text;
    EXPECT_EQ(report.restore.error.value_or(""), c.text);
    EXPECT_TRUE(has_code(report, Code::kS002));
  }
}

TEST_F(Rows, Row02WritebackIsOff) {
  State state = state_of({root(2)});
  state.options.writeback = true;
  expect_hard(state, "Migration source wants writeback enabled, but it is disabled on the "
                     "destination");
  EXPECT_EQ(only_code(state), Code::kO001);
}

TEST_F(Rows, Row03AnnounceSubmountsIsOff) {
  State state = state_of({root(2)});
  state.options.announce_submounts = true;
  Destination off = virtiofsd();
  off.announce_submounts = false;
  expect_hard(state, "Migration source wants announce-submounts enabled, but it is disabled on the "
                     "destination", off);
}

TEST_F(Rows, Row04PosixAclIsOff) {
  State state = state_of({root(2)});
  state.options.posix_acl = true;
  expect_hard(state, "Migration source wants posix ACLs enabled, but it is disabled on the "
                     "destination");
}

TEST_F(Rows, Row05MountPathsWithoutARoot) {
  State state = state_of({at(2, 1, "a")});
  state.mount_paths = {{7, "."}};
  expect_hard(state, "Received no root node from the source");
}

TEST_F(Rows, Row06MountPathsAndARootThatIsNone) {
  State state = state_of({lost(1)});
  state.mount_paths = {{7, "."}};
  expect_hard(state, "Root node has not been serialized as root node");
}

TEST_F(Rows, Row07RootGivenAsAPath) {
  expect_hard(state_of({at(1, 1, "a")}), "Refusing to use path given for root node");
  expect_hard(state_of({full(1, "a")}), "Refusing to use path given for root node");
}

TEST_F(Rows, Row08RootGivenAsAHandle) {
  expect_hard(state_of({by_handle(1, {7, 1, {}})}),
              "Refusing to use file handle given for root node");
}

TEST_F(Rows, Row09AnotherRoot) {
  expect_hard(state_of({root(2), {3, 1, RootNode{}, {}}}),
              "Node with non-root ID (3) given as root node");
}

TEST_F(Rows, Row10AnIdTwice) {
  expect_hard(state_of({root(4), at(2, 1, "a"), at(2, 1, "d")}), "Double-use of FUSE inode ID 2");
  // The second one is opened first: where that fails, abort reports it and guest-error the id.
  const State second_gone = state_of({root(4), at(2, 1, "gone"), at(2, 1, "a")});
  EXPECT_EQ(abort(second_gone).error.value_or(""),
            "Inode 2: Opening " + dir_.path() + "/gone: No such file or directory (os error 2)");
  EXPECT_EQ(guest_error(second_gone).error.value_or(""), "Double-use of FUSE inode ID 2");
}

TEST_F(Rows, Row11RootLost) {
  const State state = state_of({lost(1), lost(2)});
  EXPECT_EQ(abort(state_of({lost(1)})).error.value_or(""),
            "Inode 1: Migration source has lost inode 1");
  const Restore lenient = guest_error(state);
  EXPECT_EQ(lenient.outcome, Outcome::kSucceeds);
  EXPECT_TRUE(lenient.dead_mount);
  EXPECT_EQ(only_code(state), Code::kS001);
}

TEST_F(Rows, Row12RootOfAnotherHandle) {
  State state = state_of({root(2)});
  const FileHandle now = handle_of(dir_.path());
  const FileHandle other = handle_of(dir_ / "d");
  state.inodes[0].file_handle = other;
  expect_hard(state, "Inode 1 is not the same inode as in the migration source: File handle "
                     "differs: " + spaced_hex(now.data) + " != " + spaced_hex(other.data));
  state.inodes[0].file_handle = FileHandle{0, -1, now.data};
  EXPECT_TRUE(abort(state).error.value_or("").ends_with("File handle type differs: 0x1 != "
                                                        "0xffffffff"));
  state.inodes[0].file_handle = now;
  EXPECT_EQ(abort(state).outcome, Outcome::kSucceeds);
}

TEST_F(Rows, Row13ShareThatCannotBeOpened) {
  const auto report = check_state(state_of({root(2)}), dir_ / "nowhere", virtiofsd());
  EXPECT_EQ(report.restore.error.value_or(""), "No such file or directory (os error 2)");
  EXPECT_EQ(report.verdict, Verdict::kIndeterminate);
  EXPECT_TRUE(has_code(report, Code::kR001));
}

TEST_F(Rows, Row14UnresolvedReferences) {
  const std::string text = "Unresolved references between serialized inodes";
  expect_hard(state_of({at(2, 1, "a")}), text);                                   // no root
  expect_hard(state_of({root(3), at(2, 77, "a")}), text);                         // no parent
  expect_hard(state_of({root(3), at(2, 3, "a"), at(3, 2, "b")}), text);           // a circle
  expect_hard(state_of({root(3), at(2, 2, "a")}), text);                          // its own
  expect_hard(state_of({root(1), at(2, 1, "a"), at(3, 1, "d")}), text);           // evicted
  EXPECT_EQ(only_code(state_of({root(3), at(2, 77, "a")})), Code::kS003);
}

TEST_F(Rows, Row15NameThatDoesNotOpen) {
  const State state = state_of({root(3), at(2, 1, "gone")});
  expect_policy(state, "Inode 2: Opening " + dir_.path() +
                           "/gone: No such file or directory (os error 2)", 2);
  EXPECT_EQ(only_code(state), Code::kP001);
  expect_policy(state_of({root(3), at(2, 1, "a", 2), at(3, 2, "x")}),
                "Inode 3: Opening " + dir_.path() + "/a/x: Not a directory (os error 20)", 3);
}

TEST_F(Rows, Row15bNulInAName) {
  const State state = state_of({root(3), at(2, 1, std::string_view("a\0b", 3))});
  expect_policy(state, "Inode 2: Opening " + dir_.path() +
                           std::string("/a\0b: nul byte found in provided data at position: 1", 52),
                2);
  EXPECT_EQ(only_code(state), Code::kS003);
}

TEST_F(Rows, Row16ParentThatIsAStub) {
  const State state = state_of({root(3), at(2, 1, "gone", 2), at(3, 2, "x")});
  const Restore lenient = guest_error(state);
  EXPECT_EQ(lenient.invalid_inodes, (std::vector<NodeId>{2, 3}));
}

TEST_F(Rows, Row17PathToAnotherObject) {
  State state = state_of({root(3), at(2, 1, "a")});
  const FileHandle now = handle_of(dir_ / "a");
  const FileHandle other = handle_of(dir_ / "d/b");
  state.inodes[1].file_handle = other;
  expect_policy(state, "Inode 2: Inode 2 is not the same inode as in the migration source: File "
                       "handle differs: " + spaced_hex(now.data) + " != " +
                           spaced_hex(other.data), 2);
  EXPECT_EQ(only_code(state), Code::kI001);
}

TEST_F(Rows, Row18FileSystemWithoutHandles) {
  // procfs has none; the share is one directory of it.
  State state = state_of({root(3), at(2, 1, "ostype")});
  state.inodes[1].file_handle = FileHandle{1, 1, {}};
  const auto report = check_state(state, "/proc/sys/kernel", virtiofsd());
  EXPECT_EQ(report.restore.error.value_or(""), "Inode 2: Operation not supported (os error 95)");
  EXPECT_TRUE(has_code(report, Code::kO001));
  state.inodes[0].file_handle = FileHandle{1, 1, {}};
  EXPECT_EQ(check_state(state, "/proc/sys/kernel", virtiofsd(OnError::kGuestError))
                .restore.error.value_or(""),
            "Operation not supported (os error 95)");
}

TEST_F(Rows, Row19SourceLostTheInode) {
  expect_policy(state_of({root(2), lost(5)}), "Inode 5: Migration source has lost inode 5", 5);
  EXPECT_EQ(only_code(state_of({root(2), lost(5)})), Code::kS006);
  EXPECT_EQ(only_code(state_of({root(2), lost(5)}, {{0, 5, 0}})), Code::kS004);
}

TEST_F(Rows, Row20UnknownMountId) {
  const State state = state_of({root(2), by_handle(2, {99, 1, {}})});
  expect_policy(state, "Inode 2: Unknown mount ID 99", 2);
  EXPECT_EQ(only_code(state), Code::kR004);
}

TEST_F(Rows, Row21HandleThatDoesNotOpen) {
  State state = state_of({root(2), by_handle(2, handle_of(dir_ / "a"))});
  state.mount_paths = {{std::get<HandleLocation>(state.inodes[1].location).handle.mount_id, "."}};
  expect_policy(state, "Inode 2: Opening file handle: Operation not permitted (os error 1)", 2);
  EXPECT_EQ(only_code(state), Code::kE002);
  Destination able = virtiofsd();
  able.capabilities.dac_read_search = true;
  EXPECT_EQ(abort(state, able).outcome, Outcome::kSucceeds);
  std::filesystem::remove(dir_ / "a");
  EXPECT_EQ(abort(state, able).error.value_or(""),
            "Inode 2: Opening file handle: Stale file handle (os error 116)");
  EXPECT_EQ(only_code(state, able), Code::kP001);
}

TEST_F(Rows, Row22HandleThatIsTooLong) {
  const ByteVector data(129);
  State state = state_of({root(2), by_handle(2, {7, 1, data})});
  state.mount_paths = {{7, "."}};
  expect_policy(state, "Inode 2: File handle too long", 2);
}

TEST_F(Rows, Row23MountPathThatDoesNotOpen) {
  State state = state_of({root(2), by_handle(2, {7, 1, {}})});
  state.mount_paths = {{7, "gone"}};
  expect_policy(state, "Inode 2: Unknown mount ID 7", 2);
  EXPECT_TRUE(has_code(check_state(state, dir_.path(), virtiofsd()), Code::kR004));
}

TEST_F(Rows, Row24DescriptorsUsedUp) {
  const State state = state_of({root(4), at(2, 1, "a"), at(3, 1, "d")}, {{0, 2, 0}});
  Destination to = virtiofsd();
  const auto with = [&](std::uint64_t room) {
    to.rlimit_nofile = kReservedDescriptors + 1 + room;
    return abort(state, to);
  };
  EXPECT_EQ(with(0).error.value_or(""), "Too many open files in system (os error 23)");
  EXPECT_EQ(with(2).error.value_or(""), "Inode 2: Too many open files in system (os error 23)");
  EXPECT_EQ(with(3).error.value_or(""), "Too many open files in system (os error 23)");
  EXPECT_EQ(with(4).outcome, Outcome::kSucceeds);
  EXPECT_TRUE(has_code(check_state(state, dir_.path(), [&] {
                         to.rlimit_nofile = 612;
                         return to;
                       }()), Code::kE002));
}

TEST_F(Rows, Row25HandleOnAnUnknownInode) {
  expect_hard(state_of({root(2)}, {{0, 9, 0}}), "Inode 9 not found");
  EXPECT_EQ(only_code(state_of({root(2)}, {{0, 9, 0}})), Code::kS003);
}

TEST_F(Rows, Row26HandleThatCannotBeOpened) {
  const State state = state_of({root(3), at(2, 1, "d")}, {{4, 2, 2}});
  const Restore strict = abort(state);
  EXPECT_EQ(strict.error.value_or(""), "Opening inode 2 (" + dir_.path() +
                                           "/d) as handle 4: Is a directory (os error 21)");
  EXPECT_EQ(guest_error(state).invalid_handles, std::vector<HandleId>{4});
}

TEST_F(Rows, Row27HandleOnAFifo) {
  ASSERT_EQ(::mkfifo((dir_ / "p").c_str(), 0600), 0);
  const State state = state_of({root(3), at(2, 1, "p")}, {{0, 2, 0}});
  EXPECT_EQ(abort(state).error.value_or(""), "Opening inode 2 (" + dir_.path() +
                                                 "/p) as handle 0: Bad file descriptor (os error "
                                                 "9)");
  EXPECT_EQ(only_code(state), Code::kP003);
}

TEST_F(Rows, Row31MountPathThatIsAFifo) {
  ASSERT_EQ(::mkfifo((dir_ / "p").c_str(), 0600), 0);
  State state = state_of({root(2)});
  state.mount_paths = {{7, "p"}};
  EXPECT_EQ(abort(state).outcome, Outcome::kHangs);
  state.options.writeback = true;  // tested before the mount paths
  EXPECT_EQ(abort(state).outcome, Outcome::kFails);
}

TEST_F(Rows, AllowedDirThatIsMissingEndsCubeBeforeTheState) {
  Destination to = cube(Profile::kCubeGuestError);
  to.allowed_dirs = {dir_ / "bind"};
  const auto report = check_bytes({0, 1}, dir_.path(), to);  // the state is not even whole
  EXPECT_EQ(report.restore.error.value_or(""),
            "failed to init filter list: Failed to openat file \"" + (dir_ / "bind") +
                "\": Os { code: 2, kind: NotFound, message: \"No such file or directory\" }");
  EXPECT_TRUE(has_code(report, Code::kR005));
  EXPECT_EQ(report.verdict, Verdict::kIndeterminate);
}

TEST_F(Rows, CubeWrapsItsErrors) {
  const Restore restore = abort(state_of({lost(1)}), cube(Profile::kCubeAbort));
  EXPECT_EQ(restore.wrapped.value_or(""),
            "Failed activating the device: InvalidVirtioFsState(Custom { kind: NotFound, error: "
            "\"Inode 1: Migration source has lost inode 1\" })");
}

}  // namespace
}  // namespace vfsmend::test
