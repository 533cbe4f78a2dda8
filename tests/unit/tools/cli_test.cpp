// SPDX-License-Identifier: Apache-2.0
// Commands, help, and what a user can get wrong.
#include "vfsmend/cli.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "run_tool.h"
#include "vfsmend/options.h"

namespace vfsmend {
namespace {

using test::run_tool;
using test::ToolRun;

TEST(Cli, PrintsVersionAndHelp) {
  EXPECT_TRUE(run_tool({"--version"}).out.starts_with("vfsmend "));
  EXPECT_EQ(run_tool({"--version"}).exit, 0);
  for (const CommandSpec& command : all_commands()) {
    const std::string name(command.name);
    EXPECT_NE(run_tool({"help"}).out.find("  " + name + " "), std::string::npos);
    const ToolRun help = run_tool({"help", name});
    EXPECT_EQ(help.exit, 0);
    EXPECT_EQ(help.out, run_tool({name, "--help"}).out);
    EXPECT_EQ(help.out, run_tool({name, "-h"}).out);
  }
}

TEST(Cli, HelpNamesEveryOptionOfTheCommandAndNoOther) {
  for (const CommandSpec& command : all_commands()) {
    const std::string help = command_help(command, 80);
    for (const OptionSpec& spec : all_options()) {
      const bool named = help.find("--" + std::string(spec.name) + " ") != std::string::npos ||
                         help.find("--" + std::string(spec.name) + "\n") != std::string::npos ||
                         help.find("--" + std::string(spec.name) + "[") != std::string::npos;
      // Another command may have an option of that name, which is another option.
      const auto has = options_of(command);
      EXPECT_EQ(named, std::ranges::find(has, spec.name, &OptionSpec::name) != has.end())
          << command.name << " " << spec.name;
    }
  }
}

TEST(Cli, HelpFitsANarrowTerminal) {
  test::ToolWorld world;
  world.terminal = true;
  world.columns = 40;
  std::istringstream in(run_tool({"check", "--help"}, world).out);
  for (std::string line; std::getline(in, line);) {
    EXPECT_LE(line.size(), 52U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

struct Wrong {
  std::vector<std::string> args;
  std::string err;
};

TEST(Cli, SaysWhatIsWrongAndWhatToDo) {
  const std::vector<Wrong> wrongs = {
      {{"chekc"}, "vfsmend: \"chekc\" is no command; did you mean \"check\"?\nSee: vfsmend help\n"},
      {{"frobnicate"}, "vfsmend: \"frobnicate\" is no command\nSee: vfsmend help\n"},
      {{"--format", "json"},
       "vfsmend: --format: the command comes first, then its options\nSee: vfsmend help\n"},
      {{"check", "--formt", "json", "S"},
       "vfsmend: check: --formt: no such option; did you mean \"--format\"?\n"
       "See: vfsmend help check\n"},
      {{"check", "--migration-on-error", "abort", "S"},
       "vfsmend: check: --migration-on-error: no such option; did you mean \"--on-error\"?\n"
       "See: vfsmend help check\n"},
      {{"inspect", "--shared-dir", "/d", "S"},
       "vfsmend: inspect: --shared-dir: not an option of inspect\nSee: vfsmend help inspect\n"},
      {{"check"},
       "vfsmend: check: SNAPSHOT is missing: the file or directory to look at\n"
       "See: vfsmend help check\n"},
      {{"check", "--shared-dir", "--writeback", "S"},
       "vfsmend: check: --shared-dir: its value DIR is missing\nSee: vfsmend help check\n"},
      {{"check", "--format", "xml", "S"},
       "vfsmend: check: --format: \"xml\" is none of text, json, jsonl\n"
       "See: vfsmend help check\n"},
      {{"capture", "--dir", "/d"},
       "vfsmend: capture: --dir: -o FILE is missing: where to write the manifest\n"
       "See: vfsmend help capture\n"},
      {{"capture", "--keep-unlinked", "S"},
       "vfsmend: capture: --keep-unlinked: needs --daemon-pid: only the daemon still has these "
       "files\nSee: vfsmend help capture\n"},
      {{"capture", "--hash", "some", "S"},
       "vfsmend: capture: --hash: \"some\" is none of none, used, all\nSee: vfsmend help capture\n"},
      {{"explain", "S999"},
       "vfsmend: explain: \"S999\" is no code; `vfsmend explain` lists them\n"
       "See: vfsmend help explain\n"},
      {{"explain", "S0002"},
       "vfsmend: explain: \"S0002\" is no code; did you mean \"S002\"?\n"
       "See: vfsmend help explain\n"},
  };
  for (const Wrong& wrong : wrongs) {
    const ToolRun run = run_tool(wrong.args);
    EXPECT_EQ(run.exit, 16) << wrong.err;
    EXPECT_EQ(run.err, wrong.err);
    EXPECT_EQ(run.out, "");
  }
}

TEST(Cli, WithoutACommandShowsTheHelpAsAnError) {
  const ToolRun run = run_tool({});
  EXPECT_EQ(run.exit, 16);
  EXPECT_TRUE(run.err.starts_with("Usage: vfsmend COMMAND"));
  EXPECT_EQ(run.out, "");
}

TEST(Cli, ContradictionsNameTheOption) {
  const std::vector<Wrong> wrongs = {
      {{"--profile", "cube-guest-error", "--on-error", "abort"}, "--on-error: "},
      {{"--profile", "cube-abort", "--daemon-args", "virtiofsd"}, "--daemon-args: "},
      {{"--profile", "virtiofsd", "--dialect", "cube-v1"}, "--dialect: "},
      {{"--profile", "cube-remap", "--dialect", "v2"}, "--dialect: "},
      {{"--profile", "virtiofsd", "--allowed-dir", "/d"}, "--allowed-dir: "},
      {{"--profile", "virtiofsd", "--overlay", "f"}, "--overlay: "},
      {{"--shared-dir", "/a", "--share", "x=/b"}, "--shared-dir: "},
      {{"--share", "x=/a", "--share", "x=/b"}, "--share: "},
      {{"--share", "/a"}, "--share: "},
      {{"--share", "=/a"}, "--share: "},
      {{"--share", "x="}, "--share: "},
      {{"--format", "json", "--format", "text"}, "--format: "},
      {{"--deadline", "-1"}, "--deadline: "},
      {{"--deadline", "1s"}, "--deadline: "},
      {{"--mount-ns", "0"}, "--mount-ns: "},
      {{"--max-findings", ""}, "--max-findings: "},
      {{"--virtiofsd-version", "1.10.1"}, "--virtiofsd-version: "},
      {{"--virtiofsd-version", "new"}, "--virtiofsd-version: "},
      {{"--daemon-uid", "root"}, "--daemon-uid: "},
      {{"--daemon-uid", "4294967295"}, "--daemon-uid: "},
      {{"--sandbox", "jail"}, "--sandbox: "},
      {{"--cache", "some"}, "--cache: "},
      {{"--modcaps", "sys_admin"}, "--modcaps: "},
      {{"--inode-file-handles", "yes"}, "--inode-file-handles: "},
      {{"--posix-acl=yes"}, "--posix-acl: "},
      {{"--color", "red"}, "--color: "},
      {{"--daemon-args", "virtiofsd --cache 'auto"}, "--daemon-args: "},
      {{"--daemon-args", "virtiofsd --cache=x"}, "--daemon-args: --cache: "},
  };
  for (const Wrong& wrong : wrongs) {
    std::vector<std::string> args = {"check"};
    args.insert(args.end(), wrong.args.begin(), wrong.args.end());
    args.emplace_back("/nowhere");
    const ToolRun run = run_tool(args);
    EXPECT_EQ(run.exit, 16) << wrong.args[0] << " " << wrong.err;
    EXPECT_TRUE(run.err.starts_with("vfsmend: check: " + wrong.err)) << run.err;
    EXPECT_EQ(run.out, "");
  }
}

TEST(Cli, Explains) {
  const ToolRun one = run_tool({"explain", "s001"});
  EXPECT_EQ(one.exit, 0);
  EXPECT_TRUE(one.out.starts_with("S001 "));
  EXPECT_NE(run_tool({"explain"}).out.find("A001 C - "), std::string::npos);
  EXPECT_NE(run_tool({"explain", "S001", "P001"}).out.find("\n\nP001 "), std::string::npos);
}

}  // namespace
}  // namespace vfsmend
