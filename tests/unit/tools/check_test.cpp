// SPDX-License-Identifier: Apache-2.0
// `check` and `inspect` from the words to the exit status, on a small share.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "run_tool.h"
#include "support/forwarding_calls.h"
#include "support/json_schema.h"
#include "support/temp_dir.h"

namespace vfsmend {
namespace {

using test::run_tool;
using test::TempDir;
using test::ToolRun;
using test::ToolWorld;

class CheckCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "looking needs root";
    dir_.write("S/a", "x");
    // v2: root, inode 2 at "a", nothing open.
    state_ = dir_.write("state", ByteVector{1, 2, 1, 3, 0, 0, 2, 1, 1, 1, 1, 'a', 0,
                                            3, 0, 0, 0, 1, 0, 0, 0});
  }

  ToolRun check(std::vector<std::string> args, const ToolWorld& world = {}) const {
    std::vector<std::string> all = {"check", "--shared-dir", dir_ / "S", "--profile", "virtiofsd"};
    all.insert(all.end(), args.begin(), args.end());
    all.push_back(state_);
    return run_tool(all, world);
  }

  TempDir dir_;
  std::string state_;
};

TEST_F(CheckCommand, SaysResumeWhereAllIsThere) {
  const ToolRun run = check({});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_TRUE(run.out.ends_with("\nverdict: resume (exit 0)\nnext: resume the sandbox\n"));
  EXPECT_EQ(run.err, "");
}

TEST_F(CheckCommand, SaysWhatARepairIsFor) {
  dir_.write("S/b", "x");  // the share is not empty
  ASSERT_EQ(::unlink((dir_ / "S/a").c_str()), 0);
  const ToolRun run = check({"--format", "json", "--trace-id", "t7"});
  EXPECT_EQ(run.exit, 4) << run.out;
  EXPECT_EQ(test::JsonSchema("report.schema.json").complaint(run.out), "");
  EXPECT_NE(run.out.find("\"trace_id\":\"t7\""), std::string::npos);
  EXPECT_NE(run.out.find("\"error\":\"Inode 2: Opening /a: No such file or directory (os error 2)"),
            std::string::npos);
  EXPECT_EQ(check({"--on-error", "guest-error"}).exit, 0);
  const ToolRun lines = check({"--format", "jsonl"});
  EXPECT_EQ(lines.exit, 4);
  EXPECT_NE(lines.out.find("\n{\"line\":\"finding\",\"device\":\"raw\",\"code\":\"P001\""),
            std::string::npos);
}

TEST_F(CheckCommand, RedactsEveryName) {
  dir_.write("S/b", "x");
  ASSERT_EQ(::unlink((dir_ / "S/a").c_str()), 0);
  const std::string name = dir_.path().substr(dir_.path().rfind('/') + 1);
  for (const char* format : {"text", "json", "jsonl"}) {
    const ToolRun run = check({"--redact-paths", "--format", format});
    EXPECT_EQ(run.exit, 4);
    EXPECT_EQ(run.out.find(name), std::string::npos) << run.out;
    EXPECT_EQ(run.out.find("Opening /a:"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("Opening /~"), std::string::npos) << run.out;
  }
}

TEST_F(CheckCommand, IsIndeterminateWhereItCannotLook) {
  state_ = dir_ / "nothing";
  const ToolRun run = check({"--format", "json"});
  EXPECT_EQ(run.exit, 8);
  EXPECT_EQ(test::JsonSchema("report.schema.json").complaint(run.out), "");
  EXPECT_NE(run.out.find("\"verdict\":\"indeterminate\""), std::string::npos);
  EXPECT_NE(run.out.find("No such file or directory"), std::string::npos);
}

TEST_F(CheckCommand, KnowsNoOtherDevice) {
  const ToolRun run = run_tool({"check", "--share", "virtio_rw=/d", state_});
  EXPECT_EQ(run.exit, 16);
  EXPECT_NE(run.err.find("virtio_rw"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("raw"), std::string::npos) << run.err;
  EXPECT_EQ(run.out, "");
}

// One that calls something else where the file system would be asked.
class Misbehaving : public test::ForwardingCalls {
 public:
  explicit Misbehaving(std::function<void()> act) : act_(std::move(act)) {}
  int statx(int dir, const char* path, int flags, unsigned mask, struct statx& out) override {
    act_();
    return ForwardingCalls::statx(dir, path, flags, mask, out);
  }

 private:
  std::function<void()> act_;
};

TEST_F(CheckCommand, LeavesAtTheDeadlineAndNamesTheStage) {
  Misbehaving hangs([] { ::sleep(60); });
  ToolWorld world;
  world.calls = &hangs;
  const ToolRun run = check({"--deadline", "200", "--format", "json"}, world);
  EXPECT_EQ(run.exit, 8);
  EXPECT_EQ(test::JsonSchema("report.schema.json").complaint(run.out), "");
  EXPECT_NE(run.out.find("\"code\":\"E001\""), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("no answer within 200 ms; the wait was at: "), std::string::npos);
  const ToolRun text = check({"--deadline", "200"}, world);
  EXPECT_NE(text.out.find("\nverdict: indeterminate (exit 8)\n"), std::string::npos);
}

TEST_F(CheckCommand, SaysThatACrashIsItsOwnFault) {
  Misbehaving crashes([] {
    ::signal(SIGABRT, SIG_DFL);
    ::abort();
  });
  ToolWorld world;
  world.calls = &crashes;
  const ToolRun run = check({"--format", "json", "--trace-id", "t9"}, world);
  EXPECT_EQ(run.exit, 8);
  EXPECT_EQ(test::JsonSchema("report.schema.json").complaint(run.out), "");
  EXPECT_NE(run.out.find("\"verdict\":\"indeterminate\""), std::string::npos);
  EXPECT_NE(run.out.find("bug of vfsmend"), std::string::npos) << run.out;
  EXPECT_TRUE(run.err.starts_with("vfsmend: [t9] ")) << run.err;
}

TEST_F(CheckCommand, IsCancelledByASignal) {
  const pid_t parent = ::getpid();
  Misbehaving signals([parent] {
    ::kill(parent, SIGTERM);
    ::sleep(60);
  });
  ToolWorld world;
  world.calls = &signals;
  const ToolRun run = check({"--format", "json"}, world);
  EXPECT_EQ(run.exit, 32);
  EXPECT_NE(run.out.find("\"exit_code\":32"), std::string::npos);
  EXPECT_EQ(test::JsonSchema("report.schema.json").complaint(run.out), "");
}

TEST_F(CheckCommand, FailsWhereTheReportCannotBeWritten) {
  ToolWorld world;
  world.write_errno = ENOSPC;
  const ToolRun full = check({}, world);
  EXPECT_EQ(full.exit, 8);
  EXPECT_NE(full.err.find("No space left on device"), std::string::npos);
  world.write_errno = EBADF;
  EXPECT_EQ(check({}, world).exit, 8);
}

TEST_F(CheckCommand, EndsQuietlyWhereTheReaderHasGone) {
  ToolWorld world;
  world.write_errno = EPIPE;
  const ToolRun run = check({}, world);
  EXPECT_EQ(run.exit, 0);
  EXPECT_EQ(run.err, "");
}

TEST_F(CheckCommand, WritesAFileWholeOrNotAtAll) {
  const std::string file = dir_ / "report";
  EXPECT_EQ(check({"--format", "json", "--output", file}).exit, 0);
  EXPECT_EQ(test::JsonSchema("report.schema.json").complaint(test::read_text(file)), "");
  struct stat after {};
  ASSERT_EQ(::stat(file.c_str(), &after), 0);
  EXPECT_EQ(after.st_mode & 0777, 0600U);
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  EXPECT_EQ(check({"--output", file}).out, "");
  ASSERT_EQ(::stat(file.c_str(), &after), 0);
  EXPECT_EQ(after.st_mode & 0777, 0640U);
  EXPECT_EQ(check({"--output", dir_ / "no/such/dir"}).exit, 8);
  EXPECT_EQ(check({"--output", dir_ / "S"}).exit, 16);
  ASSERT_EQ(::symlink("/dev/null", (dir_ / "link").c_str()), 0);
  EXPECT_EQ(check({"--output", dir_ / "link"}).exit, 16);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_.path()), {}), 4);
}

TEST_F(CheckCommand, WritesOverNothingThatIsRead) {
  const std::string before = test::read_text(state_);
  const std::string alias = dir_ / "S/../" + state_.substr(state_.rfind('/') + 1);
  for (const std::string& output : {state_, alias}) {
    for (const char* deadline : {"30000", "1"}) {
      if (output == alias && deadline == std::string("1")) continue;  // told by the worker, if it comes to that
      const ToolRun run = check({"--output", output, "--deadline", deadline});
      EXPECT_EQ(run.exit, 16);
      EXPECT_NE(run.err.find("is what is read"), std::string::npos) << run.err;
    }
    EXPECT_EQ(run_tool({"inspect", "--output", output, state_}).exit, 16);
    EXPECT_EQ(run_tool({"capture", "--shared-dir", dir_ / "S", "-o", output, state_}).exit, 16);
    EXPECT_EQ(run_tool({"capture", "--format", "mtree", "--shared-dir", dir_ / "S", "-o", output, state_}).exit, 16);
  }
  EXPECT_EQ(test::read_text(state_), before);
  const std::string policy = dir_.write("policy", "M001 * ignore\n");
  EXPECT_EQ(check({"--policy", policy, "--output", policy}).exit, 16);
  EXPECT_EQ(test::read_text(policy), "M001 * ignore\n");
}

TEST_F(CheckCommand, ASingleFileIsATreeAndNoShare) {
  const std::string file = dir_ / "S/a";
  const ToolRun run = run_tool({"capture", "--shared-dir", file, "-o", dir_ / "m", state_});
  EXPECT_EQ(run.exit, 8) << run.out;
  EXPECT_NE(run.out.find("is a regular file"), std::string::npos) << run.out;
  EXPECT_FALSE(std::filesystem::exists(dir_ / "m"));
  EXPECT_EQ(run_tool({"capture", "--dir", file, "-o", dir_ / "m"}).exit, 0);
}

TEST_F(CheckCommand, TakesColorsFromTheTerminalAndTheEnvironment) {
  const auto colored = [&](std::vector<std::string> args, const ToolWorld& world) {
    return check(std::move(args), world).out.find('\x1b') != std::string::npos;
  };
  ToolWorld pipe;
  ToolWorld terminal;
  terminal.terminal = true;
  terminal.columns = 80;
  EXPECT_FALSE(colored({}, pipe));
  EXPECT_TRUE(colored({}, terminal));
  EXPECT_TRUE(colored({"--color", "always"}, pipe));
  EXPECT_FALSE(colored({"--color", "never"}, terminal));
  pipe.env = {{"CLICOLOR_FORCE", "1"}};
  EXPECT_TRUE(colored({}, pipe));
  pipe.env = {{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}};
  EXPECT_FALSE(colored({}, pipe));
  terminal.env = {{"NO_COLOR", "1"}};
  EXPECT_FALSE(colored({}, terminal));
  terminal.env = {{"NO_COLOR", ""}};
  EXPECT_TRUE(colored({}, terminal));
  terminal.env = {{"TERM", "dumb"}};
  EXPECT_FALSE(colored({}, terminal));
}

TEST_F(CheckCommand, InspectShowsTheState) {
  const ToolRun run = run_tool({"inspect", state_});
  EXPECT_EQ(run.exit, 0);
  EXPECT_NE(run.out.find("2 inodes (1 RootNode, 1 Path), the next is 3\n"), std::string::npos)
      << run.out;
  const ToolRun json = run_tool({"inspect", "--format", "json", state_});
  EXPECT_EQ(json.exit, 0);
  EXPECT_EQ(test::JsonSchema("state.schema.json").complaint(json.out), "");
  EXPECT_EQ(run_tool({"inspect", "--format", "jsonl", state_}).exit, 16);
}

TEST_F(CheckCommand, InspectSaysWhatItCannotRead) {
  const std::string garbage = dir_.write("garbage", "\x07\x07\x07");
  for (const std::string& file : {garbage, dir_ / "nothing"}) {
    const ToolRun run = run_tool({"inspect", "--format", "json", file});
    EXPECT_EQ(run.exit, 8);
    EXPECT_EQ(test::JsonSchema("state.schema.json").complaint(run.out), "");
    EXPECT_EQ(run.out.find("\"reason\":null"), std::string::npos);
  }
}

}  // namespace
}  // namespace vfsmend
