// SPDX-License-Identifier: Apache-2.0
// Modes, owners, attributes, times and bytes: V04, V13, V14, and policies.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "scenario.h"

namespace vfsmend::test {
namespace {

class Contents : public Scenario {};

TEST_F(Contents, V04_Mode000) {
  write("w/run.sh", "#!/bin/sh\n");
  write("w/data", "1");
  sh("chmod 755 " + at("w/run.sh"));
  look_up("w/run.sh");
  open("w/data", O_RDONLY);
  pause();
  capture();
  sh(fmt::format("chmod 000 {} {}", at("w/run.sh"), at("w/data")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair");
  EXPECT_EQ(said.codes(), "M001 M001") << said.json;
  EXPECT_TRUE(said.mentions("chmod 0755"));
  sh(fmt::format("chmod 755 {}; chmod 644 {}", at("w/run.sh"), at("w/data")));
  const Said again = check();
  EXPECT_EQ(again.verdict, "resume") << again.json;
  EXPECT_EQ(again.codes(), "");
}

TEST_F(Contents, OwnerAndAttributes) {
  write("a", "1");
  write("b", "1");
  sh(fmt::format("setfattr -n user.k -v one {} && setfacl -m u:1234:r {}", at("a"), at("b")));
  look_up("a");
  look_up("b");
  pause();
  capture();
  EXPECT_EQ(check().codes(), "");
  sh(fmt::format("setfattr -n user.k -v two {} && setfacl -b {} && chown 1000:1000 {}", at("a"), at("b"),
                 at("a")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair");
  EXPECT_EQ(said.codes(), "M002 M003 M003") << said.json;
  sh(fmt::format("chown 0:0 {0} && setfattr -n user.k -v one {0} && setfacl -m u:1234:r {1}", at("a"),
                 at("b")));
  EXPECT_EQ(check().verdict, "resume");
}

TEST_F(Contents, LongAttributesAreShownFromWhereTheyDiffer) {
  write("a", "1");
  const std::string value(2000, 'v');
  const auto set = [&](char last) {
    const std::string whole = value + last;
    ASSERT_EQ(::setxattr(at("a").c_str(), "user.k", whole.data(), whole.size(), 0), 0);
  };
  set('x');
  look_up("a");
  pause();
  capture();
  set('y');
  Said said = check();
  EXPECT_EQ(said.codes(), "M003") << said.json;
  EXPECT_TRUE(said.mentions(R"("before":{"user.k":"2001 bytes, from 2000 on: 78"})")) << said.json;
  EXPECT_TRUE(said.mentions(R"("after":{"user.k":"2001 bytes, from 2000 on: 79"})"));
  ASSERT_EQ(::setxattr(at("a").c_str(), "user.k", value.data(), 4, 0), 0);
  said = check();
  EXPECT_TRUE(said.mentions(R"("before":{"user.k":"2001 bytes, from 4 on: 76 76 )")) << said.json;
  EXPECT_TRUE(said.mentions(R"("after":{"user.k":"76 76 76 76"})"));
}

TEST_F(Contents, CapabilitiesAreForWhoAsks) {
  write("ping", "1");
  const char capability[] = "\x01\0\0\x02\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0";
  ASSERT_EQ(::setxattr(at("ping").c_str(), "security.capability", capability, 20, 0), 0);
  look_up("ping");
  pause();
  capture();
  ASSERT_EQ(::removexattr(at("ping").c_str(), "security.capability"), 0);
  const Said said = check();
  EXPECT_EQ(said.codes(), "M003") << said.json;
  EXPECT_TRUE(said.mentions("--allow-privileges"));
}

TEST_F(Contents, V13_LogThatGrew) {
  create("app.log", O_RDWR | O_APPEND);  // what OPEN is given, the daemon takes the bit out of
  write("app.log", std::string(16384, 'x'));
  pause();
  capture();
  sh(fmt::format("head -c 4096 /dev/zero >> {}", at("app.log")));
  const Said said = check();
  EXPECT_EQ(said.codes(), "C001 S005") << said.json;
  EXPECT_TRUE(said.mentions("4096 bytes were appended"));
  EXPECT_TRUE(said.mentions("\"casualties\":[\"if the host appended")) << "S005 is not automatic";
}

TEST_F(Contents, V13_FlagsAreSafeToMendWhileTheSizeIsThatOfTheCapture) {
  create("app.log", O_RDWR | O_APPEND);  // what OPEN is given, the daemon takes the bit out of
  write("app.log", std::string(16384, 'x'));
  pause();
  capture();
  const Said said = check();
  EXPECT_EQ(said.codes(), "S005");
  EXPECT_FALSE(said.mentions("if the host appended")) << said.json;
}

TEST_F(Contents, V13_GrewWithoutAppend) {
  write("app.log", std::string(16384, 'x'));
  open("app.log", O_RDWR);
  pause();
  capture();
  sh(fmt::format("head -c 4096 /dev/zero >> {}", at("app.log")));
  Said said = check();
  EXPECT_EQ(said.verdict, "rebuild");
  EXPECT_EQ(said.codes(), "C001");
  std::ofstream(scratch("policy")) << "# logs may grow\nC001 *.log append-ok\n";
  said = check({"--policy", scratch("policy")});
  EXPECT_EQ(said.verdict, "resume") << said.json;
  EXPECT_EQ(said.codes(), "C001");
  // Bytes before the end of the capture changed too: that is no append.
  sh(fmt::format("printf y | dd of={} conv=notrunc status=none", at("app.log")));
  EXPECT_EQ(check({"--policy", scratch("policy")}).verdict, "rebuild");
}

TEST_F(Contents, V14_TimesOnly) {
  for (const char* name : {"src/a.c", "src/b.c", "build/a.o"}) {
    write(name, name);
    look_up(name);
  }
  sh(fmt::format("touch -d 2020-01-02T03:04:05.123456789Z {} {}", at("src/a.c"), at("src/b.c")));
  pause();
  capture({"--hash", "all"});
  sh(fmt::format("touch -d '+1 day' {} {}", at("src/a.c"), at("src/b.c")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair");
  EXPECT_EQ(said.codes(), "M005 M005") << said.json;
  EXPECT_TRUE(said.mentions("1577934245.123456789"));
  EXPECT_TRUE(said.mentions("the ctime cannot come back"));
  sh(fmt::format("touch -d 2020-01-02T03:04:05.123456789Z {} {}", at("src/a.c"), at("src/b.c")));
  const Said again = check();
  EXPECT_EQ(again.verdict, "resume") << again.json;
  EXPECT_EQ(again.codes(), "");
}

// ext4 has times to 2446, and 64 bits of nanoseconds end in 2262.
TEST_F(Contents, TimesFarAway) {
  private_mounts();
  set_share(mount_ext4("far"));
  write("future", "1");
  write("past", "1");
  sh(fmt::format("touch -d 2400-01-01 {} && touch -d 1905-01-01 {}", at("future"), at("past")));
  look_up("future");
  look_up("past");
  pause();
  capture();
  EXPECT_EQ(check().codes(), "") << "newer than the guest's clock, and so it was before the pause";
  sh(fmt::format("touch -d 2410-01-01 {}; touch -d 1906-01-01 {}", at("future"), at("past")));
  EXPECT_EQ(check().codes(), "C001") << "the change of the first cannot be seen";
}

TEST_F(Contents, OpenFileWithOtherBytes) {
  write("db", "0123456789");
  open("db", O_RDWR);
  pause();
  capture();
  sh(fmt::format("touch -r {0} {1}; printf 9876543210 > {0}; touch -r {1} {0}", at("db"), scratch("times")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "rebuild") << "size and mtime are equal, the hash is not";
  EXPECT_EQ(said.codes(), "C001") << said.json;
}

TEST_F(Contents, OpenFileThatShrank) {
  write("db", "0123456789");
  open("db", O_RDWR);
  pause();
  capture();
  sh("truncate --size 5 " + at("db"));
  const Said said = check();
  EXPECT_EQ(said.verdict, "rebuild");
  EXPECT_EQ(said.codes(), "C002") << said.json;
}

TEST_F(Contents, ClosedFileWithOtherBytesIsSeenAnewUnlessItIsCachedForEver) {
  write("note", "one");
  look_up("note");
  pause();
  capture();
  write("note", "other");
  EXPECT_EQ(check().verdict, "resume");
  EXPECT_EQ(check({"--cache", "always"}).verdict, "rebuild");
}

TEST_F(Contents, PolicyIgnoresWarnsAndInsists) {
  write("cache/x", "1");
  write("etc/y", "1");
  write("lib/z", "1");
  look_up("cache/x");
  look_up("etc/y");
  open("lib/z", O_RDONLY);
  pause();
  capture({"--hash", "all"});
  sh(fmt::format("chmod 600 {} {}", at("cache/x"), at("etc/y")));
  std::ofstream(scratch("policy")) << "* cache/* ignore\nM001 etc/* warn\nC001 lib/* must-match\n";
  const Said said = check({"--policy", scratch("policy")});
  EXPECT_EQ(said.verdict, "resume") << said.json;
  EXPECT_EQ(said.codes(), "M001");
  std::ofstream(scratch("policy")) << "M001 * must-match\n";
  EXPECT_EQ(check({"--policy", scratch("policy")}).verdict, "rebuild");
}

// The first change of a lower file makes a copy of it: another birth, and the same file.
TEST_F(Contents, ChangedModeOnAnOverlay) {
  private_mounts();
  sh(fmt::format("mkdir {0} && mount -t tmpfs none {0} && mkdir {0}/l {0}/u {0}/w {0}/m", scratch("o")));
  sh(fmt::format("echo 1 > {0}/l/a; mount -t overlay -o lowerdir={0}/l,upperdir={0}/u,workdir={0}/w o {0}/m",
                 scratch("o")));
  set_share(scratch("o/m"));
  look_up("a");
  pause();
  capture();
  EXPECT_EQ(check().codes(), "");
  sh("chmod 600 " + at("a"));
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair");
  EXPECT_EQ(said.codes(), "M001") << said.json;
}

TEST_F(Contents, V12_UnlinkedWhileOpenAndKept) {
  create("t.tmp", O_RDWR);
  write("t.tmp", "the only copy");
  unlink("t.tmp");
  const pid_t daemon = pause_and_keep_daemon();
  const std::string said_then = capture({"--daemon-pid", std::to_string(daemon), "--keep-unlinked"});
  EXPECT_NE(said_then.find("\"H001\":1"), std::string::npos) << said_then;
  end_daemon();
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair");
  EXPECT_EQ(said.codes(), "H001") << said.json;
  const std::size_t at = said.json.find("\"kept\":\"") + 8;
  const std::string kept = said.json.substr(at, said.json.find('"', at) - at);
  EXPECT_EQ(read_text(kept), "the only copy");
}

TEST_F(Contents, V12_UnlinkedWhileOpenAndNotKept) {
  create("t.tmp", O_RDWR);
  unlink("t.tmp");
  pause();
  EXPECT_NE(capture().find("\"H001\":1"), std::string::npos) << "told at the capture";
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair");
  EXPECT_EQ(said.codes(), "S004") << said.json;
  EXPECT_TRUE(said.mentions("\"casualties\":[\"handle "));
}

// Two files that are open in the same way: which is which, nobody knows.
TEST_F(Contents, V12_TwoUnlinkedFilesAreKeptAndNotTaken) {
  for (const char* name : {"t1", "t2"}) {
    create(name, O_RDWR);
    unlink(name);
  }
  const pid_t daemon = pause_and_keep_daemon();
  capture({"--daemon-pid", std::to_string(daemon), "--keep-unlinked"});
  end_daemon();
  EXPECT_EQ(check().codes(), "S004 S004");
}

TEST_F(Contents, ClockOfTheGuest) {
  write("note", "one");
  look_up("note");
  pause();
  capture();
  write("note", "two");
  sh("touch -d '+1 day' " + at("note"));
  const Said said = check();
  EXPECT_EQ(said.verdict, "resume");
  EXPECT_EQ(said.codes(), "C001 T001") << said.json;
}

}  // namespace
}  // namespace vfsmend::test
