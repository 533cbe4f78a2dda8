// SPDX-License-Identifier: Apache-2.0
// Repairs on the host: modes, owners, attributes and times come back as the capture recorded them, on
// the captured objects and nowhere else, and an undo gives back what was there before.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>

#include "scenario.h"
#include "support/host_facts.h"

namespace vfsmend::test {
namespace {

class HostRepairs : public Scenario {
 protected:
  [[nodiscard]] std::string facts() const { return host_facts(share()); }

  void know(std::initializer_list<const char*> paths) {
    for (const char* path : paths) look_up(path);
    pause();
    capture();
    captured_ = facts();
  }

  // After a change on the host: the repair brings the capture back and the snapshot resumes, twice is
  // once, and an undo brings the change back.
  Said repair_and_undo(const std::string& mode = "-p", const std::vector<std::string>& more = {}) {
    const std::string changed = facts();
    EXPECT_NE(changed, captured_) << "the test changed nothing";
    Said said = repair(mode, more);
    EXPECT_EQ(said.exit, 1) << said.json;
    EXPECT_EQ(facts(), captured_);
    EXPECT_EQ(check().verdict, "resume");
    EXPECT_EQ(rehearse(), 0);
    EXPECT_EQ(repair(mode, more).exit, 0) << "nothing is left to do";
    EXPECT_EQ(undo(said.journal, {"-n"}), 0);
    EXPECT_EQ(facts(), captured_) << "a dry run changes nothing";
    EXPECT_EQ(undo(said.journal), 0);
    EXPECT_EQ(facts(), changed);
    EXPECT_FALSE(std::filesystem::exists(said.journal));
    return said;
  }

  // Nothing is changed, and the report says why.
  void expect_left(const std::string& why, const std::string& mode = "-y",
                   const std::vector<std::string>& more = {}) {
    const std::string before = facts();
    const Said said = repair(mode, more);
    EXPECT_EQ(said.exit, 4) << said.json;
    EXPECT_TRUE(said.mentions(why)) << said.json;
    EXPECT_EQ(said.journal, "");
    EXPECT_EQ(facts(), before);
  }

  std::string captured_;
};

TEST_F(HostRepairs, V04_Mode000) {
  write("w/run.sh", "#!/bin/sh\n");
  write("w/data", "1");
  sh("chmod 755 " + at("w/run.sh"));
  open("w/data", O_RDONLY);
  know({"w/run.sh"});
  sh(fmt::format("chmod 0 {} {}", at("w/run.sh"), at("w/data")));
  EXPECT_EQ(check().codes(), "M001 M001");
  EXPECT_TRUE(repair_and_undo().mentions("chmod 0755"));
}

TEST_F(HostRepairs, V14_TouchedSources) {
  write("Makefile", "all: build/a.o\nbuild/%.o: src/%.c\n\tfalse\n");
  write("src/a.c", "int a;");
  write("build/a.o", "object");
  sh(fmt::format("touch -d 2001-02-03T04:05:06.000000007 {}; touch -d 2001-02-03T05:00:00.5 {}", at("src/a.c"),
                 at("build/a.o")));
  look_up("src/a.c");
  look_up("build/a.o");
  pause();
  capture({"--hash", "all"});
  captured_ = facts();
  sh(fmt::format("touch -d tomorrow {}", at("src/a.c")));
  repair_and_undo();
  ASSERT_EQ(repair("-p").exit, 1);
  sh(fmt::format("make -q -C {} all", share()));
}

TEST_F(HostRepairs, OwnersAttributesAndLists) {
  write("a", "1");
  write("d/b", "2");
  sh(fmt::format("ln -s nowhere {0}/l; setfattr -n user.note -v kept {0}/a; setfacl -m u:1234:rw,g:7:r,m::rw {0}/a; "
                 "setfacl -d -m u:99:rwx {0}/d; chown -h 5:6 {0}/l; chmod 2775 {0}/d", share()));
  know({"a", "d/b", "l"});
  sh(fmt::format("chown -h 0:0 {0}/l; chown 77:88 {0}/a {0}/d/b; setfattr -x user.note {0}/a; "
                 "setfattr -n user.new -v x {0}/d/b; setfacl -b {0}/a; setfacl -k {0}/d; chmod 600 {0}/a", share()));
  repair_and_undo();
}

TEST_F(HostRepairs, PrivilegesNeedTheirSwitch) {
  write("suid", "1");
  write("cap", "2");
  write("owned", "3");
  sh(fmt::format("chmod 4755 {0}/suid {0}/owned; setcap cap_net_raw+ep {0}/cap", share()));
  know({"suid", "cap", "owned"});
  sh(fmt::format("chmod 755 {0}/suid; setcap -r {0}/cap; chown 12:34 {0}/owned; chmod 4755 {0}/owned", share()));
  expect_left("it needs --allow-privileges");
  repair_and_undo("-p", {"--allow-privileges"});
}

TEST_F(HostRepairs, WhatWasNotRecordedGoes) {
  write("a", "1");
  know({"a"});
  sh(fmt::format("chmod 6777 {0}/a; setcap cap_net_raw+ep {0}/a; setfacl -m u:1:rwx {0}/a", share()));
  repair_and_undo();  // less is no privilege
}

TEST_F(HostRepairs, FileThatMayLieOutsideIsLeft) {
  write("a", "1");
  sh(fmt::format("ln {} {}", at("a"), scratch("outside")));
  know({"a"});
  sh("chmod 0 " + at("a"));
  expect_left("it has 2 names, and the capture knows 1 of them");
}

TEST_F(HostRepairs, HardLinksThatTheCaptureKnowsAreMended) {
  write("a", "1");
  sh(fmt::format("ln {} {}", at("a"), at("b")));
  look_up("a");
  look_up("b");  // the same inode to the daemon: the state has one name
  pause();
  capture({"--tree"});
  captured_ = facts();
  sh("chmod 0 " + at("a"));
  repair_and_undo();
}

TEST_F(HostRepairs, ManifestOfSomebodyElseIsNotTrusted) {
  write("a", "1");
  know({"a"});
  sh("chmod 0 " + at("a"));
  const std::string manifest = snapshot() + ".vfsmend-manifest";
  sh("chown 1000 " + manifest);
  expect_left("owned by user 1000, not by root");
  sh(fmt::format("chown 0 {0}; chmod 666 {0}", manifest));
  expect_left("others than root can write it");
}

TEST_F(HostRepairs, StateOnly) {
  write("a", "1");
  know({"a"});
  sh("chmod 0 " + at("a"));
  expect_left("--state-only", "-y", {"--state-only"});
}

TEST_F(HostRepairs, AllOrNothing) {
  const std::string disk = mount_ext4("disk");
  set_share(disk);
  for (const char* name : {"a", "b", "c"}) write(name, "1");
  know({"a", "b", "c"});
  for (const char* name : {"a", "b", "c"}) sh("chmod 0 " + at(name));
  sh("chattr +i " + at("b"));
  const std::string before = facts();
  const Said said = repair("-p");
  EXPECT_EQ(said.exit, 8) << said.json;
  EXPECT_TRUE(said.mentions("b: its mode cannot be put back: Operation not permitted")) << said.json;
  EXPECT_EQ(facts(), before);
  sh("chattr -i " + at("b"));
  repair_and_undo();
  sh("umount " + disk);
}

TEST_F(HostRepairs, StateAndHostInOne) {
  write("a", "1");
  write("d/b", "2");
  open("d/b", O_RDWR);
  know({"a", "d/b"});
  sh(fmt::format("mv {0}/d {0}/e; chmod 0 {0}/e/b", share()));
  const ByteVector before = state_bytes();
  const Said said = repair("-p");
  EXPECT_EQ(said.exit, 1) << said.json;
  EXPECT_EQ(rehearse(), 0);
  EXPECT_EQ(check().verdict, "resume");
  EXPECT_EQ(undo(said.journal), 0);
  EXPECT_EQ(state_bytes(), before);
  struct stat s {};
  ASSERT_EQ(::stat(at("e/b").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777U, 0U);
}

// To find what moved, objects are opened by handle, which takes the working directory along.
TEST_F(HostRepairs, PathsRelativeToTheWorkingDirectory) {
  write("d/b", "2");
  know({"d/b"});
  const ByteVector before = state_bytes();
  sh(fmt::format("mv {0}/d {0}/e; chmod 0 {0}/e/b", share()));
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(snapshot()).parent_path());
  const std::vector<std::string> destination = {"--profile", "virtiofsd", "--sandbox", "none", "--shared-dir", "S",
                                                "snapshot"};
  const auto with = [&](std::vector<std::string> args) {
    args.insert(args.end(), destination.begin(), destination.end());
    return run_vfsmend(args);
  };
  EXPECT_EQ(with({"check"}), 4);
  EXPECT_EQ(with({"repair", "-p"}), 1);
  EXPECT_EQ(with({"check"}), 0);
  EXPECT_EQ(run_vfsmend({"undo", "snapshot.vfsmend-journal"}), 0);
  std::filesystem::current_path(here);
  EXPECT_EQ(state_bytes(), before);
}

TEST_F(HostRepairs, UndoRefusesAnObjectThatWasChangedSince) {
  write("a", "1");
  write("b", "1");
  know({"a", "b"});
  sh(fmt::format("chmod 0 {} {}", at("a"), at("b")));
  const std::string broken = facts();
  const Said said = repair("-p");
  ASSERT_EQ(said.exit, 1);
  sh("chmod 640 " + at("b"));
  EXPECT_EQ(undo(said.journal), 8);
  EXPECT_EQ(undo(said.journal, {"-f"}), 0);
  EXPECT_EQ(facts(), broken);
}

TEST_F(HostRepairs, ShareThatADaemonServesIsRefused) {
  write("a", "1");
  look_up("a");
  const pid_t daemon = pause_and_keep_daemon();
  capture();
  sh("chmod 0 " + at("a"));
  const Said said = repair("-p");
  EXPECT_EQ(said.exit, 8);
  EXPECT_TRUE(said.mentions(fmt::format("is open in process {} (", daemon))) << said.json;
  EXPECT_EQ(repair("-p", {"--force"}).exit, 1);
  end_daemon();
}

TEST_F(HostRepairs, V12_KeptBytesUnderAHiddenName) {
  create("t.tmp", O_RDWR);
  write("t.tmp", "what only the guest had");
  sh(fmt::format("chown 42:43 {0}; chmod 640 {0}; touch -d 2001-02-03T04:05:06.7 {0}; touch -d 2002-01-01 {1}",
                 at("t.tmp"), share()));
  unlink("t.tmp");
  const pid_t pid = pause_and_keep_daemon();
  capture({"--daemon-pid", std::to_string(pid), "--keep-unlinked"});
  end_daemon();
  EXPECT_EQ(check().codes(), "H001");
  const ByteVector before = state_bytes();
  const std::string share_before = host_facts_of(share());
  const Said said = repair("-p");
  ASSERT_EQ(said.exit, 1) << said.json;
  EXPECT_EQ(rehearse(), 0);
  EXPECT_EQ(check().verdict, "resume");
  EXPECT_EQ(host_facts_of(share()), share_before) << "the time of the directory too";
  const std::filesystem::path hidden = std::filesystem::directory_iterator(share())->path();
  EXPECT_EQ(read_text(hidden), "what only the guest had");
  EXPECT_TRUE(host_facts_of(hidden).starts_with("100640 42:43 ")) << host_facts_of(hidden);
  ASSERT_EQ(undo(said.journal), 0);
  EXPECT_EQ(state_bytes(), before);
  EXPECT_TRUE(std::filesystem::is_empty(share()));
  // Once more, and the resume is confirmed: what the guest wrote meanwhile does not matter.
  const Said again = repair("-p");
  ASSERT_EQ(again.exit, 1);
  write(hidden.filename().string(), "the guest went on");
  EXPECT_EQ(run_vfsmend({"repair", "--finish", again.journal}), 0);
  EXPECT_TRUE(std::filesystem::is_empty(share()));
}

}  // namespace
}  // namespace vfsmend::test
