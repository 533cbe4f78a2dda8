// SPDX-License-Identifier: Apache-2.0
// Is it the same share? V07 to V10, and mounts inside it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "scenario.h"

namespace vfsmend::test {
namespace {

class Mounts : public Scenario {
 protected:
  void SetUp() override {
    Scenario::SetUp();
    if (!IsSkipped()) private_mounts();
  }
  // Ten files, all looked up, and one of them open.
  void know_ten() {
    for (int i = 0; i < 10; ++i) write(fmt::format("f{}", i), fmt::format("content {}", i));
    for (int i = 0; i < 10; ++i) look_up(fmt::format("f{}", i));
    open("f0", O_RDWR);
    pause();
  }
  static dev_t device_of(const std::string& path) {
    struct stat s {};
    EXPECT_EQ(::stat(path.c_str(), &s), 0);
    return s.st_dev;
  }
};

TEST_F(Mounts, V07_CopyInThePlaceOfTheShare) {
  for (int i = 0; i < 50; ++i) write(fmt::format("f{:02}", i), fmt::format("content {}", i));
  for (int i = 0; i < 50; ++i) look_up(fmt::format("f{:02}", i));
  pause();
  capture({"--hash", "all"});
  sh(fmt::format("mv {0} {0}.old && cp -a {0}.old {0}", share()));
  Said said = check();
  EXPECT_EQ(said.verdict, "rebuild");
  EXPECT_EQ(said.codes(), "R002") << "one for all of it: " << said.json;
  EXPECT_TRUE(said.mentions("strip the stored handles"));
  said = check({"--allow-rebind"});
  EXPECT_EQ(said.verdict, "resume") << said.json;
  EXPECT_EQ(said.codes(), "R002");
  sh(fmt::format("printf 'content X' > {0} && touch -r {1} {0}", at("f07"), at("f06")));
  said = check({"--allow-rebind"});
  EXPECT_EQ(said.verdict, "rebuild");
  EXPECT_EQ(said.codes(), "C001 R002") << said.json;
}

TEST_F(Mounts, V07_CopyWithoutHashesCannotBeTaken) {
  write("a", "1");
  look_up("a");
  pause();
  capture({"--hash", "none"});
  sh(fmt::format("mv {0} {0}.old && cp -a {0}.old {0}", share()));
  EXPECT_EQ(check({"--allow-rebind"}).verdict, "rebuild");
}

// The wrong directory on the command line, or a copy elsewhere: nothing is to be destroyed for it, and nothing
// was unmounted.
TEST_F(Mounts, V07_AnotherDirectoryIsNamed) {
  write("a", "1");
  look_up("a");
  pause();
  capture();
  sh(fmt::format("cp -a {0} {0}.copy", share()));
  set_share(share() + ".copy");
  const Said said = check();
  EXPECT_EQ(said.verdict, "indeterminate");
  EXPECT_EQ(said.codes(), "R001") << said.json;
  EXPECT_TRUE(said.mentions("another directory than the one that was captured")) << said.json;
  EXPECT_TRUE(said.mentions("--allow-rebind"));
}

TEST_F(Mounts, V08_SameFileSystemUnderOtherNumbers) {
  set_share(mount_ext4("disk"));
  know_ten();
  capture();
  // A loop device in between: the next one has another number, unless somebody else let one go.
  const dev_t number = device_of(share());
  sh(fmt::format("umount {} && truncate --size 1M {}", share(), scratch("spacer")));
  for (int i = 0; i < 5; ++i) {
    sh(fmt::format("losetup -f {} && mount -o loop {} {}", scratch("spacer"), scratch("disk.img"), share()));
    if (device_of(share()) != number) break;
    sh("umount " + share());
  }
  ASSERT_NE(device_of(share()), number);
  const Said said = check();
  sh(fmt::format("losetup -j {} | cut -d: -f1 | xargs losetup -d", scratch("spacer")));
  EXPECT_EQ(said.verdict, "resume") << said.json;
  EXPECT_EQ(said.codes(), "I003");
}

TEST_F(Mounts, V08_SameFileSystemElsewhere) {
  sh(fmt::format("mkdir {0} {1} && mount -t tmpfs none {0}", scratch("one"), scratch("two")));
  set_share(scratch("one"));
  know_ten();
  capture();
  sh(fmt::format("mount --move {} {} || (mount --bind {} {} && umount {})", scratch("one"), scratch("two"),
                 scratch("one"), scratch("two"), scratch("one")));
  set_share(scratch("two"));
  const Said said = check();
  EXPECT_EQ(said.verdict, "resume") << said.json;
  EXPECT_EQ(said.codes(), "");
}

TEST_F(Mounts, V09_NotMounted) {
  set_share(mount_ext4("disk"));
  know_ten();
  capture();
  sh("umount " + share());
  const Said said = check();
  EXPECT_EQ(said.exit, 8);
  EXPECT_EQ(said.verdict, "indeterminate");
  EXPECT_EQ(said.codes(), "R001") << said.json;
}

// A directory below the mount that has all the names.
TEST_F(Mounts, V09_ShadowTree) {
  set_share(scratch("disk"));
  for (int i = 0; i < 10; ++i) write(fmt::format("f{}", i), fmt::format("content {}", i));
  mount_ext4("disk");
  know_ten();
  capture();
  sh("umount " + share());
  const Said said = check();
  EXPECT_EQ(said.verdict, "indeterminate");
  EXPECT_EQ(said.codes(), "R001") << said.json;
  EXPECT_TRUE(said.mentions("what was mounted at the capture is not"));
}

// Beside it: the wrong disk, which has all the names too.
TEST_F(Mounts, AnotherFileSystemAtTheSamePlace) {
  set_share(mount_ext4("disk"));
  know_ten();
  capture();
  sh(fmt::format("cp -a {0} {1} && umount {0} && mount -t tmpfs none {0} && cp -a {1}/. {0}", share(),
                 scratch("copy")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "indeterminate");
  EXPECT_EQ(said.codes(), "R001") << said.json;
}

TEST_F(Mounts, V10_ReadOnlyMountBecameWritable) {
  for (const char* name : {"a", "b"}) write(name, "1");
  sh(fmt::format("mount --bind {0} {0} && mount -o remount,bind,ro {0}", share()));
  look_up("a");
  look_up("b");
  pause();
  capture();
  EXPECT_EQ(check().codes(), "");
  sh("mount -o remount,bind,rw " + share());
  Said said = check();
  EXPECT_EQ(said.verdict, "rebuild");
  EXPECT_EQ(said.codes(), "R003") << said.json;
  said = check({"--allow-remount"});
  EXPECT_EQ(said.verdict, "repair");
  sh("mount -o remount,bind,ro " + share());
  EXPECT_EQ(check().verdict, "resume");
}

TEST_F(Mounts, WritableMountBecameReadOnly) {
  write("a", "1");
  sh(fmt::format("mount --bind {0} {0}", share()));
  look_up("a");
  pause();
  capture();
  sh("mount -o remount,bind,ro " + share());
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair");
  EXPECT_EQ(said.codes(), "R003") << said.json;
}

TEST_F(Mounts, WritableMountBelowAReadOnlyOne) {
  write("sub/a", "1");
  sh(fmt::format("mount --bind {0} {0} && mount --bind {0}/sub {0}/sub", share()));
  sh(fmt::format("mount -o remount,bind,ro {0} && mount -o remount,bind,ro {0}/sub", share()));
  look_up("sub/a");
  pause();
  capture();
  EXPECT_EQ(check().codes(), "") << "as it was";
  sh(fmt::format("mount -o remount,bind,rw {}/sub", share()));
  const Said said = check();
  EXPECT_EQ(said.verdict, "rebuild");
  EXPECT_EQ(said.codes(), "R003") << said.json;
  EXPECT_TRUE(said.mentions("\"path\":\"sub\""));
}

TEST_F(Mounts, MountInsideIsMissing) {
  write("a", "1");
  sh(fmt::format("mkdir {0}/sub && mount -t tmpfs none {0}/sub", share()));
  write("sub/b", "2");
  look_up("a");
  look_up("sub/b");
  pause();
  capture();
  EXPECT_EQ(check().codes(), "");
  sh(fmt::format("umount {0}/sub", share()));
  const Said said = check();
  EXPECT_EQ(said.verdict, "indeterminate");
  EXPECT_EQ(said.codes(), "R004") << "and nothing of what was below it: " << said.json;
}

TEST_F(Mounts, MountInsideIsNew) {
  write("d/a", "1");
  look_up("d/a");
  pause();
  capture();
  // A parent that leads outside, and has the same names.
  sh(fmt::format("cp -a {0}/d {1} && mount --bind {1} {0}/d", share(), scratch("outside")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "indeterminate");
  EXPECT_EQ(said.codes(), "R004") << said.json;
  sh(fmt::format("umount {0}/d", share()));
  EXPECT_EQ(check().verdict, "resume");
}

}  // namespace
}  // namespace vfsmend::test
