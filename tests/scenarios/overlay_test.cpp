// SPDX-License-Identifier: Apache-2.0
// Overlays, as the share and below it: what a first write does to a file of the lower layer is no other file,
// and another file under the same inode number is one.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "scenario.h"
#include "sys/object_handle.h"

namespace vfsmend::test {
namespace {

class Overlays : public Scenario {
 protected:
  void SetUp() override {
    Scenario::SetUp();
    if (!IsSkipped()) private_mounts();
  }
  // Layers on a file system that uses inode numbers again at once; `lower` and `upper` are shell commands.
  void lay(const std::string& lower, const std::string& upper) {
    layers_ = mount_ext4("layers");
    sh(fmt::format("cd {} && mkdir lower upper work && cd lower && {} && cd ../upper && {}", layers_, lower,
                   upper));
  }
  void mount_over(const std::string& directory) const {
    sh(fmt::format("mount -t overlay none -o lowerdir={0}/lower,upperdir={0}/upper,workdir={0}/work {1}", layers_,
                   directory));
  }
  // Asked of the kernel itself, so that a program that forgets to ask is no reason to skip.
  [[nodiscard]] bool kernel_names(const std::string& name) const {
    constexpr int kHandleFid = 0x200;  // AT_HANDLE_FID
    sys::ObjectHandle handle;
    return sys::object_handle(sys::kernel(), AT_FDCWD, at(name).c_str(), kHandleFid, handle) == 0;
  }
  [[nodiscard]] ino_t number_of(const std::string& name) const {
    struct stat s {};
    EXPECT_EQ(::stat(at(name).c_str(), &s), 0);
    return s.st_ino;
  }

 private:
  std::string layers_;
};

TEST_F(Overlays, CopiesOfAnOverlayBelowTheShare) {
  lay("echo 1 > a && echo 2 > b", "true");
  sh(fmt::format("mkdir {}", at("ov")));
  mount_over(at("ov"));
  look_up("ov/a");
  look_up("ov/b");
  pause();
  capture();
  EXPECT_EQ(check().codes(), "");
  sh(fmt::format("chmod 600 {} && echo 22 > {}", at("ov/a"), at("ov/b")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair");
  EXPECT_EQ(said.codes(), "C001 M001") << said.json;
  sh(fmt::format("umount {}", at("ov")));
  mount_over(at("ov"));
  EXPECT_EQ(check().codes(), "C001 M001");
  EXPECT_EQ(repair("-p").exit, 1) << "the very object";
  EXPECT_EQ(check().codes(), "C001");
}

TEST_F(Overlays, AnotherFileUnderTheSameNumber) {
  lay("echo 1 > a", "echo 1 > u");
  mount_over(share());
  look_up("a");
  look_up("u");
  pause();
  capture();
  EXPECT_EQ(check().codes(), "");
  const ino_t number = number_of("u");
  sh(fmt::format("rm {0} && echo 2 > {0} && touch -r {1} {0}", at("u"), at("a")));
  for (int i = 0; i < 100 && number_of("u") != number; ++i) {
    sh(fmt::format("mv {0} {1}.{2} && echo 2 > {0} && touch -r {3} {0}", at("u"), at("old"), i, at("a")));
  }
  if (number_of("u") != number) GTEST_SKIP() << "the number is not used again";
  if (!kernel_names("u")) GTEST_SKIP() << "no handles of overlays here: Linux before 6.6";
  const Said said = check();
  EXPECT_EQ(said.verdict, "rebuild");
  EXPECT_EQ(said.codes(), "I002") << said.json;
}

TEST_F(Overlays, MovedFilesOfBothLayers) {
  lay("mkdir d && echo 1 > d/a", "echo 1 > u");
  mount_over(share());
  look_up("d/a");
  look_up("u");
  pause();
  capture();
  sh(fmt::format("mv {} {} && mv {} {}", at("d/a"), at("d/b"), at("u"), at("v")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair");
  EXPECT_EQ(said.codes(), "P002 P002") << said.json;
}

// With layers on two file systems numbers are put together by xino, and are others without.
TEST_F(Overlays, MountedAgainWithOtherNumbers) {
  const std::string lower = mount_ext4("low");
  const std::string upper = mount_ext4("up");
  sh(fmt::format("cd {} && mkdir d && echo 1 > d/a && cd {} && mkdir upper work", lower, upper));
  const auto mount = [&](const std::string& xino) {
    sh(fmt::format("mount -t overlay none -o lowerdir={1},upperdir={2}/upper,workdir={2}/work,xino={0} {3}", xino,
                   lower, upper, share()));
  };
  mount("on");
  look_up("d/a");
  pause();
  if (!kernel_names("d/a")) GTEST_SKIP() << "no handles of overlays here: Linux before 6.6";
  capture();
  const ino_t number = number_of(".");
  sh("umount " + share());
  mount("off");
  EXPECT_NE(number_of("."), number);
  const Said said = check();
  EXPECT_EQ(said.verdict, "resume") << said.json;
  for (const auto& [code, count] : said.counts) EXPECT_EQ(code, "I003");
}

// Without an index the write makes a file of its own out of one link, and both count two names.
TEST_F(Overlays, AWriteSplitsALinkOff) {
  lay("echo 1 > a && ln a b", "true");
  mount_over(share());
  look_up("a");
  pause();
  capture();
  sh(fmt::format("echo 2 > {}", at("a")));
  const Said said = check();
  EXPECT_EQ(said.verdict, "repair");
  EXPECT_EQ(said.codes(), "I004") << said.json;
  EXPECT_TRUE(said.mentions("a was one of 2 names of a file, and is another file now"));
}

}  // namespace
}  // namespace vfsmend::test
