// SPDX-License-Identifier: Apache-2.0
// Overlays, as the share and below it: what a first write does to a file of the lower layer is no other file,
// and another file under the same inode number is one.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "scenario.h"

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

}  // namespace
}  // namespace vfsmend::test
