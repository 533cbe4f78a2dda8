// SPDX-License-Identifier: Apache-2.0
// Is it the same object? V01, V03, V05, V06, V11, and what stat alone cannot tell apart.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenario.h"

namespace vfsmend::test {
namespace {

class Identity : public Scenario {};

ino_t number_of(const std::string& path) {
  struct stat s {};
  EXPECT_EQ(::lstat(path.c_str(), &s), 0) << path;
  return s.st_ino;
}

TEST_F(Identity, V01_NothingHappened) {
  write("a", "1");
  write("d/b", "2");
  write("d/e/c", "3");
  sh("ln -s a " + at("l"));
  for (const char* path : {"a", "d/b", "d/e/c", "l"}) look_up(path);
  open("d/e/c", O_RDWR);
  pause();
  capture();
  const Said said = check();
  EXPECT_EQ(said.verdict, "resume") << said.json;
  EXPECT_EQ(said.codes(), "");
}

TEST_F(Identity, V03_RemovedFile) {
  write("a", "1");
  write("b", "2");
  look_up("a");
  look_up("b");
  pause();
  capture();
  sh("rm " + at("b"));
  Said said = check();
  EXPECT_EQ(said.verdict, "repair");
  EXPECT_EQ(said.codes(), "P001");
  EXPECT_TRUE(said.mentions("\"path\":\"b\"")) << said.json;
  EXPECT_TRUE(said.mentions("\"safe\":true")) << said.json;
  said = check_guest_error();
  EXPECT_EQ(said.verdict, "resume");
  EXPECT_EQ(said.codes(), "P001");
}

TEST_F(Identity, V03_RemovedOpenFile) {
  write("a", "1");
  write("b", "2");
  look_up("a");
  open("b", O_RDWR);
  pause();
  capture();
  sh("rm " + at("b"));
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair");
  EXPECT_EQ(said.codes(), "P001");
  EXPECT_TRUE(said.mentions("\"casualties\":[\"handle ")) << said.json;
  EXPECT_EQ(check_guest_error().verdict, "resume");
}

TEST_F(Identity, V05_ReplacedByARename) {
  write("cfg.json", std::string(120, 'a'));
  open("cfg.json", O_RDWR);
  pause();
  capture();
  write("new", std::string(120, 'b'));
  sh(fmt::format("touch -r {0} {1} && mv {1} {0}", at("cfg.json"), at("new")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "rebuild") << said.json;
  EXPECT_EQ(said.codes(), "I001");
  EXPECT_TRUE(said.mentions("\"repair\":null")) << "the original is gone";
}

TEST_F(Identity, V05_WrittenInPlaceIsNoOtherObject) {
  write("cfg.json", std::string(120, 'a'));
  look_up("cfg.json");
  pause();
  capture();
  write("cfg.json", std::string(130, 'b'));
  const Said said = check();
  EXPECT_EQ(said.verdict, "resume") << said.json;
  EXPECT_EQ(said.codes(), "C001") << "and nothing has it open";
}

TEST_F(Identity, V06_MovedDirectory) {
  write("p/q/f", "1");
  open("p/q/f", O_RDWR);
  pause();
  capture();
  sh(fmt::format("mv {} {}", at("p/q"), at("p/z")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair") << said.json;
  EXPECT_EQ(said.codes(), "P002") << "the file goes with its directory";
  EXPECT_TRUE(said.mentions("rewrite the path in the state to p/z"));
  rewrite_path("p/q", "z");
  const Said again = check();
  EXPECT_EQ(again.verdict, "resume") << again.json;
  EXPECT_EQ(again.codes(), "");
}

TEST_F(Identity, MovedFileIsFoundInItsDirectoryAndBesideIt) {
  write("d/a", "1");
  write("d/b", "2");
  write("e/x", "3");
  look_up("d/a");
  look_up("d/b");
  look_up("e/x");
  pause();
  capture();
  sh(fmt::format("mv {} {}; mv {} {}", at("d/a"), at("d/a.new"), at("d/b"), at("e/b.new")));
  const Said said = check();
  EXPECT_EQ(said.codes(), "P002 P002") << said.json;
  EXPECT_TRUE(said.mentions("to d/a.new")) << said.json;
  EXPECT_TRUE(said.mentions("to e/b.new")) << said.json;
}

TEST_F(Identity, MovedFarAwayIsFoundOnRequest) {
  private_mounts();
  set_share(mount_ext4("far"));
  write("d/a", "1");
  write("x/y/z/w", "1");
  look_up("d/a");
  pause();
  capture();
  sh(fmt::format("mv {} {}", at("d/a"), at("x/y/z/a")));
  sh("echo 2 > /proc/sys/vm/drop_caches");  // else the kernel knows the way by itself
  const Said said = check({"--search"});
  EXPECT_EQ(said.codes(), "P002") << said.json;
  EXPECT_TRUE(said.mentions("to x/y/z/a"));
}

TEST_F(Identity, ReplacedDirectoryWithTheOldOneBesideIt) {
  write("d/a", "1");
  look_up("d/a");
  pause();
  capture();
  sh(fmt::format("mv {0} {1} && cp -a {1} {0}", at("d"), at("d.old")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair") << said.json;
  EXPECT_EQ(said.codes(), "P002") << "what is in it is the original's";
}

TEST_F(Identity, V11_NameThatIsNotUtf8) {
  write("a", "1");
  write("caf\xe9.txt", "2");
  look_up("a");
  pause();
  const std::string captured = capture();
  EXPECT_NE(captured.find("\"N001\":1"), std::string::npos) << captured;
  const Said said = check();
  EXPECT_EQ(said.verdict, "resume");
  EXPECT_EQ(said.codes(), "") << "the guest never saw it";
}

TEST_F(Identity, V11_NameThatIsNotUtf8AndKnown) {
  write("a", "1");
  write("caf\xe9.txt", "2");
  look_up("a");
  look_up("caf\xe9.txt");
  pause();
  EXPECT_NE(capture().find("\"N001\":1"), std::string::npos);
  const Said said = check();
  EXPECT_EQ(said.codes(), "S004") << said.json;
  EXPECT_TRUE(said.mentions("not UTF-8"));
}

// The neighbour of V11: nothing has such a name, and the lost inode is only forgotten late.
TEST_F(Identity, V21_UnlinkedByTheGuestIsNotANameProblem) {
  write("a", "1");
  write("b", "2");
  look_up("a");
  look_up("b");
  unlink("b");
  pause();
  capture();
  EXPECT_EQ(check().codes(), "S006");
}

TEST_F(Identity, NumberUsedAgain) {
  private_mounts();
  set_share(mount_ext4("reuse"));
  write("f", "12345678");
  look_up("f");
  pause();
  capture();
  const ino_t before = number_of(at("f"));
  sh("rm " + at("f"));
  write("f", "12345678");
  ASSERT_EQ(number_of(at("f")), before) << "ext4 gives the lowest free number";
  const Said said = check();
  EXPECT_EQ(said.verdict, "rebuild");
  EXPECT_EQ(said.codes(), "I002") << said.json;
}

// Beside it: the ctime moved and nothing else.
TEST_F(Identity, TouchedMetadataIsTheSameObject) {
  private_mounts();
  set_share(mount_ext4("same"));
  write("f", "12345678");
  open("f", O_RDWR);
  pause();
  capture();
  sh(fmt::format("chmod 600 {0}; chmod 644 {0}", at("f")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "resume") << said.json;
  EXPECT_EQ(said.codes(), "");
}

TEST_F(Identity, HardLinksThatParted) {
  write("a", "1");
  sh(fmt::format("ln {} {}", at("a"), at("b")));
  open("a", O_RDWR);
  pause();
  capture();
  sh(fmt::format("cp -p {0} {1} && mv {1} {0}", at("a"), at("copy")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair");
  EXPECT_EQ(said.codes(), "I004") << said.json;
  EXPECT_TRUE(said.mentions("rewrite the path in the state to b"));
  rewrite_path("a", "b");
  EXPECT_EQ(check().verdict, "resume");
}

// Beside it: a name more, or another name less, is nobody's trouble.
TEST_F(Identity, LinksThatComeAndGo) {
  write("a", "1");
  write("c", "1");
  sh(fmt::format("ln {} {}", at("a"), at("b")));
  open("a", O_RDWR);
  look_up("c");
  pause();
  capture();
  sh(fmt::format("rm {}; ln {} {}", at("b"), at("c"), at("c2")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "resume") << said.json;
  EXPECT_EQ(said.codes(), "");
}

TEST_F(Identity, ParentThatLeadsOutside) {
  write("d/a", "1");
  look_up("d/a");
  pause();
  capture();
  sh(fmt::format("mkdir {0} && cp -a {1}/. {0} && rm -r {1} && ln -s {0} {1}", scratch("outside"), at("d")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "rebuild");
  EXPECT_EQ(said.codes(), "P003 P003") << said.json;
}

TEST_F(Identity, FileThatBecameADirectory) {
  write("a", "1");
  look_up("a");
  pause();
  capture();
  sh(fmt::format("rm {0} && mkdir {0}", at("a")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "rebuild");
  EXPECT_EQ(said.codes(), "P003") << said.json;
}

TEST_F(Identity, ManifestOfAnotherGeneration) {
  write("a", "1");
  write("b", "1");
  look_up("a");
  pause();
  capture({"--sandbox-id", "one"});
  EXPECT_EQ(check({"--sandbox-id", "one"}).codes(), "");
  EXPECT_EQ(check({"--sandbox-id", "two"}).codes(), "G001");
  start_daemon();
  look_up("a");
  look_up("b");
  pause();
  const Said said = check();
  EXPECT_EQ(said.verdict, "rebuild");
  EXPECT_EQ(said.codes(), "G001") << said.json;
}

TEST_F(Identity, MovedToANameThatNoStateCanHold) {
  write("d/f", "1");
  open("d/f", O_RDWR);
  pause();
  capture();
  sh(fmt::format("mv {0} {0}$(printf '\\377')", at("d")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair");
  EXPECT_EQ(said.codes(), "P002") << said.json;
  EXPECT_TRUE(said.mentions("rename it back to d")) << said.json;
  const std::string before = fingerprint_of_snapshot();
  EXPECT_EQ(repair("-y").exit, 4) << "and no verdict that destroys";
  EXPECT_EQ(fingerprint_of_snapshot(), before);
}

}  // namespace
}  // namespace vfsmend::test
