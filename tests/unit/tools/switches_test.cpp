// SPDX-License-Identifier: Apache-2.0
#include "vfsmend/switches.h"

#include <gtest/gtest.h>

#include "vfsmend/settings.h"

namespace vfsmend {
namespace {

Result<CheckSettings> settings_of(std::vector<std::string> args) {
  args.emplace_back("/snap");
  const auto parsed = parse_options(*command_named("check"), args);
  if (!parsed) return tl::make_unexpected(parsed.error());
  return check_settings(*parsed);
}

Destination destination_of(std::vector<std::string> args) {
  const auto settings = settings_of(std::move(args));
  EXPECT_TRUE(settings) << settings.error().text;
  return settings->request.switches;
}

TEST(ShellWords, AreThoseOfAShellWithoutItsExpansions) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(*shell_words("  a  b\tc\n"), (Words{"a", "b", "c"}));
  EXPECT_EQ(*shell_words(R"(a'b c'd "e \"f\" \n" '' \ g)"),
            (Words{"ab cd", R"(e "f" \n)", "", " g"}));
  EXPECT_EQ(*shell_words("$HOME `x` *"), (Words{"$HOME", "`x`", "*"}));
  EXPECT_FALSE(shell_words("'open"));
  EXPECT_FALSE(shell_words("\"open"));
  EXPECT_EQ(*shell_words("end\\"), (Words{"end\\"}));
}

TEST(Settings, HaveVirtiofsdsDefaults) {
  const auto settings = settings_of({});
  ASSERT_TRUE(settings);
  const Destination& to = settings->request.switches;
  EXPECT_TRUE(to.announce_submounts);
  EXPECT_FALSE(to.writeback);
  EXPECT_EQ(to.sandbox, Sandbox::kNamespace);
  EXPECT_EQ(to.inode_file_handles, InodeFileHandles::kNever);
  EXPECT_FALSE(to.rlimit_nofile);
  EXPECT_FALSE(settings->request.profile);
  EXPECT_FALSE(settings->request.on_error);
  EXPECT_TRUE(settings->request.given.empty());
  EXPECT_EQ(settings->run.deadline, std::chrono::seconds(30));
  EXPECT_EQ(settings->request.max_findings, 1000U);
}

TEST(Settings, TakeTheDaemonsSwitches) {
  const auto settings = settings_of(
      {"--sandbox=none", "--writeback", "--no-announce-submounts", "--posix-acl",
       "--inode-file-handles=mandatory", "--modcaps=+dac_read_search:-CAP_FOWNER:-chown",
       "--rlimit-nofile", "500", "--thread-pool-size", "4", "--allow-direct-io", "--cache",
       "metadata", "--readonly", "--daemon-uid", "65534:100", "--virtiofsd-version", "1.13.1"});
  ASSERT_TRUE(settings) << settings.error().text;
  const Destination& to = settings->request.switches;
  EXPECT_EQ(to.sandbox, Sandbox::kNone);
  EXPECT_TRUE(to.writeback && to.posix_acl && to.allow_direct_io && to.readonly);
  EXPECT_FALSE(to.announce_submounts);
  EXPECT_EQ(to.inode_file_handles, InodeFileHandles::kMandatory);
  EXPECT_TRUE(to.capabilities.dac_read_search && to.capabilities.dac_override);
  EXPECT_FALSE(to.capabilities.fowner);
  EXPECT_EQ(to.rlimit_nofile, 500U);
  EXPECT_EQ(to.thread_pool_size, 4U);
  EXPECT_EQ(to.cache, "metadata");
  EXPECT_EQ(to.uid, 65534U);
  EXPECT_EQ(to.gid, 100U);
  EXPECT_EQ(to.version, (Version{1, 13, 1}));
  EXPECT_EQ(settings->request.given.size(), 11U);
}

TEST(Settings, TakeFlagsTwiceAndTheLastOfAPair) {
  EXPECT_TRUE(destination_of({"--writeback", "--writeback"}).writeback);
  EXPECT_FALSE(
      destination_of({"--announce-submounts", "--no-announce-submounts"}).announce_submounts);
  EXPECT_TRUE(
      destination_of({"--no-announce-submounts", "--announce-submounts"}).announce_submounts);
  EXPECT_EQ(destination_of({"--sandbox", "none", "--sandbox", "none"}).sandbox, Sandbox::kNone);
}

TEST(Settings, AFlagDoesNotTakeTheSnapshot) {
  const auto settings = settings_of({"--posix-acl"});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->request.snapshot_path, "/snap");
  EXPECT_TRUE(destination_of({"--posix-acl=always"}).posix_acl);
  EXPECT_FALSE(destination_of({"--posix-acl=never"}).posix_acl);
}

TEST(Settings, FollowTheVersion) {
  EXPECT_EQ(destination_of({"--virtiofsd-version", "virtiofsd 1.14.0"}).inode_file_handles,
            InodeFileHandles::kPrefer);
  EXPECT_EQ(destination_of({"--virtiofsd-version", "1.14", "--inode-file-handles", "never"})
                .inode_file_handles,
            InodeFileHandles::kNever);
  EXPECT_EQ(destination_of({"--virtiofsd-version", "1.11.1"}).reader, Reader::kVirtiofsd11);
}

TEST(DaemonArgs, AreReadAsTheyRun) {
  const auto settings = settings_of(
      {"--daemon-args",
       "/usr/libexec/virtiofsd --socket-path=/run/a.sock --shared-dir '/srv/a b' --cache never "
       "--seccomp none --xattr --migration-on-error guest-error --log-level debug --writeback"});
  ASSERT_TRUE(settings) << settings.error().text;
  EXPECT_TRUE(settings->run.notes.empty());
  ASSERT_EQ(settings->request.shares.size(), 1U);
  EXPECT_EQ(settings->request.shares[0].dir, "/srv/a b");
  EXPECT_EQ(settings->request.on_error, OnError::kGuestError);
  EXPECT_EQ(settings->request.switches.cache, "never");
  EXPECT_TRUE(settings->request.switches.writeback);
  EXPECT_EQ(settings->request.given, (std::vector<std::string>{"cache", "writeback"}));
}

TEST(DaemonArgs, AreReadInLibvirtsForm) {
  const auto settings = settings_of(
      {"--daemon-args",
       "virtiofsd --fd=26 -o source=/srv/x,cache=always,sandbox=chroot,no_posix_acl -owriteback "
       "-o xattr,allow_direct_io"});
  ASSERT_TRUE(settings) << settings.error().text;
  EXPECT_TRUE(settings->run.notes.empty());
  EXPECT_EQ(settings->request.shares[0].dir, "/srv/x");
  const Destination& to = settings->request.switches;
  EXPECT_EQ(to.cache, "always");
  EXPECT_EQ(to.sandbox, Sandbox::kChroot);
  EXPECT_TRUE(to.writeback && to.allow_direct_io);
}

TEST(DaemonArgs, PassOverWhatTheyDoNotKnowWithANote) {
  const auto settings =
      settings_of({"--daemon-args", "virtiofsd --shiny new --readonly --also=this"});
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->request.switches.readonly);
  ASSERT_EQ(settings->run.notes.size(), 2U);
  EXPECT_TRUE(settings->run.notes[0].starts_with("--daemon-args: \"shiny\""));
}

TEST(DaemonArgs, GiveWayToOptionsBesideThem) {
  const auto settings = settings_of(
      {"--sandbox", "none", "--shared-dir", "/here", "--on-error", "abort", "--daemon-args",
       "virtiofsd --sandbox chroot --shared-dir /there --migration-on-error guest-error"});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->request.switches.sandbox, Sandbox::kNone);
  EXPECT_EQ(settings->request.shares[0].dir, "/here");
  EXPECT_EQ(settings->request.on_error, OnError::kAbort);
}

}  // namespace
}  // namespace vfsmend
