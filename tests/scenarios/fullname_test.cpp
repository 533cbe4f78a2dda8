// SPDX-License-Identifier: Apache-2.0
// V18: a clone under a new sandbox id, whose state names the directories of the sandbox that it was
// cloned from. CubeSandbox's loader is no program that could be asked: the check is its twin, and
// virtiofsd without a sandbox opens an absolute name as that loader opens a fullname.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <iostream>
#include <regex>

#include "../unit/tools/run_tool.h"
#include "box.h"
#include "daemon/rehearse.h"
#include "snapshot/open.h"
#include "state/codec.h"
#include "support/temp_dir.h"
#include "support/testbed.h"
#include "support/vm_snapshot_builder.h"

namespace vfsmend::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kDaemon = "virtiofsd-1.13.2";

class Fullname : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "not root";
    std::filesystem::create_directories(dir_ / "S");
    for (const char* sandbox : {"old", "new"}) dir_.write(fmt::format("{}/rw/hostdir-0/a.txt", bind(sandbox)), "x");
    allowed_ = {at("new", "rw/hostdir-0")};
  }

  [[nodiscard]] static std::string bind(const std::string& sandbox) { return "binds/" + sandbox; }
  [[nodiscard]] std::string at(const std::string& sandbox, const std::string& rest) const {
    return dir_ / (bind(sandbox) + "/" + rest);
  }

  // The guest knows the directory, a file in it, and has that open.
  [[nodiscard]] static ByteVector state_of(const std::string& filename, const std::string& fullname) {
    State state;
    state.inodes = {{1, 4, RootNode{}, {}},
                    {2, 3, Path{1, filename, fullname}, {}},
                    {300, 2, Path{2, "a.txt", ""}, {}}};
    state.handles = {{0, 300, 0x8002}};
    state.next_inode = 301;
    state.next_handle = 1;
    return encode(state, Dialect::kCubeV1);
  }

  void snapshot(const ByteVector& state, bool in_config = true) {
    std::string dirs;
    for (const std::string& dir : allowed_) dirs += (dirs.empty() ? "" : ",") + json_string(dir);
    const std::string list = in_config ? fmt::format(",\"allowed_dirs\":[{}]", dirs) : "";
    box_.emplace(BoxKind::kCubePackage, dir_ / "box",
                 fmt::format("{{\"shared_dir\":{},\"read_only\":false{}}}", json_string(dir_ / "S"), list));
    box_->write(state);
    dir_.write("overlay.json",
               fmt::format("[{{\"id\":\"virtio_rw\",\"backendfs_config\":{{\"shared_dir\":{},\"allowed_dirs\":[{}]}}}}]",
                           json_string(dir_ / "S"), dirs));
  }

  ToolRun tool(std::vector<std::string> args, const std::vector<std::string>& more = {}) const {
    args.insert(args.end(), more.begin(), more.end());
    args.insert(args.end(), {"--format", "json", box_->path()});
    ToolRun run = run_tool(args);
    EXPECT_EQ(run.err, "");
    return run;
  }

  [[nodiscard]] ByteVector now() const {
    std::optional<ContainerKind> kind;
    const auto snapshot = open_snapshot(sys::kernel(), box_->path(), {}, kind);
    EXPECT_TRUE(snapshot);
    return snapshot ? snapshot->devices.at(0).state.value_or(ByteVector{}) : ByteVector{};
  }

  // What is there is mended to `wanted`, once, and taken back.
  void expect_mended(const ByteVector& wanted, const char* mode, const std::vector<std::string>& more) {
    const auto before = box_->content();
    const ToolRun done = tool({"repair", mode}, more);
    ASSERT_EQ(done.exit, 1) << done.out;
    EXPECT_EQ(now(), wanted);
    EXPECT_TRUE(read_text(box_->file()) == box_->bytes_with(wanted)) << "no other byte";
    EXPECT_EQ(tool({"check"}, more).exit, 0);
    EXPECT_EQ(tool({"repair", mode}, more).exit, 0) << "nothing is left to do";
    expect_loads(wanted);
    std::smatch journal;
    ASSERT_TRUE(std::regex_search(done.out, journal, std::regex("\"journal\":\"([^\"]*)\"")));
    EXPECT_EQ(run_tool({"undo", journal[1].str()}).exit, 0);
    EXPECT_EQ(box_->content(), before);
  }

  void expect_loads(const ByteVector& bytes) const {
    if (const std::string why_not = why_no_testbed(kDaemon); !why_not.empty()) {
      std::cout << "not loaded by a daemon: " << why_not << "\n";
      return;
    }
    auto decoded = decode(bytes, Reader::kCube);
    ASSERT_TRUE(decoded);
    for (Inode& inode : decoded->state.inodes) {
      auto* path = std::get_if<Path>(&inode.location);
      if (path && !path->fullname.empty()) path->filename = std::exchange(path->fullname, {});
    }
    std::filesystem::create_directories(dir_ / "sockets");
    const daemon::VirtiofsdStart how{testbed_program(kDaemon),
                                     {"--shared-dir", dir_ / "S", "--sandbox=none", "--seccomp=none"},
                                     dir_ / "sockets", false};
    const auto answer =
        daemon::rehearse(how, encode(decoded->state, Dialect::kV1), sys::Deadline::in(std::chrono::seconds{20}));
    ASSERT_TRUE(answer) << answer.error().text;
    EXPECT_EQ(answer->end, daemon::Answer::End::kLoaded) << answer->log.load_error.value_or("");
  }

  void expect_left_alone(int exit, const std::vector<std::string>& more = {}) {
    const auto before = box_->content();
    const ToolRun done = tool({"repair", "-y"}, more);
    EXPECT_EQ(done.exit, exit) << done.out;
    EXPECT_EQ(box_->content(), before);
  }

  void remove_old() const { std::filesystem::remove_all(dir_ / bind("old")); }

  TempDir dir_;
  std::vector<std::string> allowed_;
  std::optional<Box> box_;
};

TEST_F(Fullname, GoneIsRewritten) {
  const ByteVector mended = state_of("hostdir-0", at("new", "rw/hostdir-0"));
  snapshot(state_of("hostdir-0", at("old", "rw/hostdir-0")));
  remove_old();
  for (const char* profile : {"cube-abort", "cube-guest-error"}) {
    const ToolRun said = tool({"check"}, {"--profile", profile});
    EXPECT_EQ(said.exit, 4);
    EXPECT_THAT(said.out, HasSubstr("\"P001\":2"));
    EXPECT_THAT(said.out, HasSubstr("rewrite the fullname in the state to " + at("new", "rw/hostdir-0")));
    EXPECT_THAT(said.out, Not(HasSubstr("handle 0 (")));
    expect_mended(mended, "-p", {"--profile", profile});
  }
}

// The directories of the resume come from config.json, its overlay, or the user.
TEST_F(Fullname, GoneByOverlayAndByOption) {
  const ByteVector mended = state_of("hostdir-0", at("new", "rw/hostdir-0"));
  snapshot(state_of("hostdir-0", at("old", "rw/hostdir-0")), false);
  remove_old();
  expect_mended(mended, "-p", {"--overlay", dir_ / "overlay.json"});
  expect_mended(mended, "-p", {"--allowed-dir", allowed_[0]});
}

// What was restored once has the absolute path for its name too.
TEST_F(Fullname, OfTheSecondGeneration) {
  const std::string old = at("old", "rw/hostdir-0");
  const std::string today = at("new", "rw/hostdir-0");
  snapshot(state_of(old, old));
  remove_old();
  expect_mended(state_of(today, today), "-p", {});
}

TEST_F(Fullname, OfTwoHostMountsEachHasItsOwn) {
  dir_.write(bind("new") + "/ro/hostdir-1/b", "x");
  allowed_.push_back(at("new", "ro/hostdir-1"));
  const auto both = [&](const std::string& sandbox) {
    State state;
    const std::string rw = at(sandbox, "rw/hostdir-0");
    const std::string ro = at(sandbox, "ro/hostdir-1");
    state.inodes = {{1, 4, RootNode{}, {}}, {2, 1, Path{1, "hostdir-0", rw}, {}}, {3, 1, Path{1, "hostdir-1", ro}, {}}};
    state.next_inode = 4;
    return encode(state, Dialect::kCubeV1);
  };
  snapshot(both("old"));
  remove_old();
  expect_mended(both("new"), "-p", {});
}

TEST_F(Fullname, AnotherSandboxsIsLeftToWhoAsks) {
  const ByteVector mended = state_of("hostdir-0", at("new", "rw/hostdir-0"));
  const std::string old = at("old", "rw/hostdir-0");
  snapshot(state_of("hostdir-0", old));
  const ToolRun said = tool({"check"});
  EXPECT_EQ(said.exit, 5);
  EXPECT_THAT(said.out, HasSubstr("leads out of the share, to " + old));
  EXPECT_THAT(said.out, HasSubstr("--allow-rebind"));
  expect_left_alone(5);
  EXPECT_EQ(tool({"check"}, {"--allow-rebind"}).exit, 4);
  const auto before = box_->content();
  EXPECT_EQ(tool({"repair", "-p"}, {"--allow-rebind"}).exit, 4) << "other files for the guest: not without consent";
  EXPECT_EQ(box_->content(), before);
  expect_mended(mended, "-y", {"--allow-rebind"});
}

TEST_F(Fullname, RemappedByTheLoaderIsLeftAlone) {
  snapshot(state_of("hostdir-0", at("old", "rw/hostdir-0")));
  expect_left_alone(0, {"--profile", "cube-remap", "--remap-filter"});
  remove_old();
  expect_left_alone(0, {"--profile", "cube-remap", "--remap-filter"});
}

// A read-only directory does not become a writable one, nor another of the sandbox's, nor one of two.
TEST_F(Fullname, NothingIsRewrittenToWhatMayBeAnother) {
  dir_.write(bind("new") + "/ro/hostdir-0/a.txt", "x");
  dir_.write(bind("newer") + "/rw/hostdir-0/a.txt", "x");
  remove_old();
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{at("new", "ro/hostdir-0")}, at("old", "rw/hostdir-0")},
      {{at("new", "rw/hostdir-0")}, at("old", "rw/hostdir-1")},
      {{at("new", "rw/hostdir-0")}, at("old", "hostdir-0")},
      {{at("new", "rw/hostdir-0"), at("newer", "rw/hostdir-0")}, at("old", "rw/hostdir-0")}};
  for (const auto& [allowed, fullname] : cases) {
    allowed_ = allowed;
    snapshot(state_of("hostdir-0", fullname));
    const ToolRun said = tool({"check"});
    EXPECT_EQ(said.exit, 4);
    EXPECT_THAT(said.out, Not(HasSubstr("rewrite the fullname"))) << fullname;
    EXPECT_THAT(said.out, HasSubstr("drop the inode"));
    EXPECT_EQ(tool({"repair", "-p"}).exit, 4) << "what is dropped is open";
  }
}

TEST_F(Fullname, DirectoryOfTodayThatIsNotThereIsToBeBound) {
  allowed_ = {at("newest", "rw/hostdir-0")};
  snapshot(state_of("hostdir-0", at("old", "rw/hostdir-0")));
  remove_old();
  expect_left_alone(8);
}

// The directory is there again, and a file in it is not: one step uncovers the next.
TEST_F(Fullname, WhatIsMissingInTheDirectoryOfTodayIsDropped) {
  snapshot(state_of("hostdir-0", at("old", "rw/hostdir-0")));
  remove_old();
  std::filesystem::remove(at("new", "rw/hostdir-0/a.txt"));
  std::ofstream(at("new", "rw/hostdir-0/other")) << "x";
  State state;
  const std::string today = at("new", "rw/hostdir-0");
  state.inodes = {{1, 4, RootNode{}, {}}, {2, 2, Path{1, "hostdir-0", today}, {}}};
  state.next_inode = 301;
  state.next_handle = 1;
  expect_mended(encode(state, Dialect::kCubeV1), "-y", {});
}

TEST_F(Fullname, TwoInodesDoNotBecomeOneDirectory) {
  State state;
  const std::string today = at("new", "rw/hostdir-0");
  const std::string old = at("old", "rw/hostdir-0");
  state.inodes = {{1, 4, RootNode{}, {}}, {2, 1, Path{1, "hostdir-0", today}, {}}, {3, 1, Path{1, "hostdir-0", old}, {}}};
  state.next_inode = 4;
  snapshot(encode(state, Dialect::kCubeV1));
  remove_old();
  const ToolRun said = tool({"check"});
  EXPECT_THAT(said.out, Not(HasSubstr("rewrite the fullname")));
  EXPECT_EQ(tool({"repair", "-p"}).exit, 1) << "it is not open: dropped";
}

// The capture knows which directory it was: the same one under the new name resumes, another does not.
TEST_F(Fullname, AgainstACapture) {
  std::filesystem::remove_all(dir_ / bind("new"));
  allowed_ = {at("old", "rw/hostdir-0")};
  const ByteVector state = state_of("hostdir-0", at("old", "rw/hostdir-0"));
  snapshot(state);
  const ToolRun captured = run_tool({"capture", box_->path()});
  ASSERT_EQ(captured.exit, 0) << captured.out << captured.err;
  std::filesystem::rename(dir_ / bind("old"), dir_ / bind("new"));
  allowed_ = {at("new", "rw/hostdir-0")};
  snapshot(state);
  expect_mended(state_of("hostdir-0", at("new", "rw/hostdir-0")), "-p", {});
  std::filesystem::rename(dir_ / bind("new"), dir_ / bind("kept"));
  dir_.write(bind("new") + "/rw/hostdir-0/a.txt", "another");
  EXPECT_EQ(tool({"repair", "-p"}).exit, 5) << "not the directory that the guest had";
}

// Files of a bind do not lie in the share.
TEST_F(Fullname, ModesInABindAreMended) {
  namespace fs = std::filesystem;
  snapshot(state_of("hostdir-0", at("new", "rw/hostdir-0")));
  const ToolRun captured = run_tool({"capture", box_->path()});
  ASSERT_EQ(captured.exit, 0) << captured.out << captured.err;
  const fs::path file = at("new", "rw/hostdir-0/a.txt");
  const fs::perms before = fs::status(file).permissions();
  fs::permissions(file, fs::perms::none);
  const ByteVector state = now();
  const ToolRun repaired = tool({"repair", "-p"});
  EXPECT_EQ(repaired.exit, 1) << repaired.out;
  EXPECT_EQ(fs::status(file).permissions(), before);
  EXPECT_EQ(now(), state);
  std::smatch journal;
  ASSERT_TRUE(std::regex_search(repaired.out, journal, std::regex("\"journal\":\"([^\"]*)\"")));
  EXPECT_EQ(run_tool({"undo", journal[1].str()}).exit, 0);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::none);
}

}  // namespace
}  // namespace vfsmend::test
