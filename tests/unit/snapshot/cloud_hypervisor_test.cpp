// SPDX-License-Identifier: Apache-2.0
#include "snapshot/cloud_hypervisor.h"

#include <gmock/gmock.h>

#include "open_fixture.h"
#include "support/vm_snapshot_builder.h"

namespace vfsmend::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Opened open_devices(const std::vector<DeviceSpec>& devices) {
  const TempDir dir;
  std::vector<std::string> fs;
  for (const DeviceSpec& spec : devices) fs.push_back(fs_json(spec.id, spec.tag, ""));
  dir.write("config.json", config_json(fs));
  dir.write("state.json", ch_state_json(devices));
  dir.write("memory-ranges", "");
  return open_path(dir.path());
}

TEST(CloudHypervisor, ReadsAStateAndItsPlace) {
  const TempDir dir;
  dir.write("config.json", config_json({fs_json("_fs1", "myfs", "")}));
  dir.write("state.json",
            ch_state_json({{.id = "_fs1",
                            .tag = "myfs",
                            .state = "[1,0,2]",
                            .before = ",\"vu_num_queues\":2,\"vring_bases\":[4,65535]"}}));
  const Opened opened = open_path(dir.path());
  ASSERT_TRUE(opened.ok()) << opened.text();
  EXPECT_EQ(opened.recognised, ContainerKind::kCloudHypervisor);
  ASSERT_EQ(opened.result->devices.size(), 1U);
  EXPECT_EQ(opened.device().id, "_fs1");
  EXPECT_EQ(opened.device().tag, "myfs");
  EXPECT_EQ(opened.device().state, bytes_of({1, 0, 2}));
  EXPECT_EQ(text_at(opened.device().span), "1,0,2");
  EXPECT_FALSE(opened.device().cube);
  EXPECT_THAT(opened.device().notes, IsEmpty());
}

TEST(CloudHypervisor, BothOrNeither) {
  const Opened neither =
      open_devices({{.id = "_fs1", .state = "null", .before = ",\"vring_bases\":null"}});
  ASSERT_TRUE(neither.ok()) << neither.text();
  EXPECT_FALSE(neither.device().state);
  EXPECT_THAT(neither.device().notes, IsEmpty());

  const Opened one =
      open_devices({{.id = "_fs1", .state = "[1]", .before = ",\"vring_bases\":null"}});
  ASSERT_TRUE(one.ok()) << one.text();
  EXPECT_THAT(one.device().notes, ElementsAre(HasSubstr("InconsistentBackendState")));

  const Opened other =
      open_devices({{.id = "_fs1", .state = "null", .before = ",\"vring_bases\":[1]"}});
  ASSERT_TRUE(other.ok()) << other.text();
  EXPECT_THAT(other.device().notes, ElementsAre(HasSubstr("vring_bases without backend_state")));
}

TEST(CloudHypervisor, NotesACountOfBasesThatTheRestoreRefuses) {
  const Opened opened = open_devices(
      {{.id = "_fs1", .state = "[1]", .before = ",\"vring_bases\":[1],\"vu_num_queues\":2"}});
  ASSERT_TRUE(opened.ok()) << opened.text();
  EXPECT_THAT(opened.device().notes, ElementsAre(HasSubstr("1 vring_bases for 2 queues")));
}

TEST(CloudHypervisor, NotesTheLostFeatureBit) {
  const Opened opened =
      open_devices({{.id = "_fs1",
                     .state = "[1]",
                     .before = ",\"vring_bases\":[1],\"acked_features\":4294967296"}});
  ASSERT_TRUE(opened.ok()) << opened.text();
  EXPECT_THAT(opened.device().notes, ElementsAre(HasSubstr("bit 26")));
}

TEST(CloudHypervisor, BeforeVersion52ThereIsNoState) {
  const Opened opened = open_devices({{.id = "_fs1", .state = ""}});
  ASSERT_TRUE(opened.ok()) << opened.text();
  EXPECT_FALSE(opened.device().state);
  EXPECT_THAT(opened.device().notes, ElementsAre(HasSubstr("before version 52")));
}

TEST(CloudHypervisor, ATornTreeIsStillRecognised) {
  const std::string whole = ch_state_json({{.id = "_fs1", .state = "[1,2,3]"}});
  for (const std::size_t size : {std::size_t{14}, whole.size() / 2, whole.size() - 1}) {
    const TempDir dir;
    dir.write("config.json", config_json({}));
    dir.write("state.json", whole.substr(0, size));
    const Opened opened = open_path(dir.path());
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.code(), ErrorCode::kFormat);
    EXPECT_EQ(opened.recognised, ContainerKind::kCloudHypervisor) << size;
  }
}

}  // namespace
}  // namespace vfsmend::test
