// SPDX-License-Identifier: Apache-2.0
#include "snapshot/cube.h"

#include <gmock/gmock.h>

#include "open_fixture.h"
#include "support/vm_snapshot_builder.h"

namespace vfsmend::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kBackend = R"({"shared_dir":"/data/rw","cache":1,"read_only":false})";

TEST(Cube, ReadsDevicesTagsOptionsAndThePlaceOfTheState) {
  const TempDir dir;
  dir.write("config.json", config_json({fs_json("virtio_rw", "virtio_rw", kBackend)}));
  const std::string state =
      dir.write("state.json",
                cube_state_json({{.id = "virtio_rw", .tag = "inner", .state = "[0,17,255,9]"}}));
  const Opened opened = open_path(dir.path());
  ASSERT_TRUE(opened.ok()) << opened.text();
  EXPECT_EQ(opened.recognised, ContainerKind::kCube);
  EXPECT_EQ(opened.result->kind, ContainerKind::kCube);
  ASSERT_EQ(opened.result->devices.size(), 1U);
  const SnapshotDevice& device = opened.device();
  EXPECT_EQ(device.id, "virtio_rw");
  EXPECT_EQ(device.tag, "inner");
  EXPECT_EQ(device.state, bytes_of({0, 17, 255, 9}));
  EXPECT_EQ(device.span.file, state);
  EXPECT_EQ(text_at(device.span), "0,17,255,9");
  ASSERT_TRUE(device.cube);
  EXPECT_EQ(device.cube->shared_dir, "/data/rw");
  EXPECT_EQ(device.cube->cache, 1);
  EXPECT_FALSE(device.cube->read_only);
  EXPECT_THAT(device.notes, IsEmpty());
}

TEST(Cube, OptionsThatAreNotThereHaveTheirDefaults) {
  const TempDir dir;
  dir.write("config.json", config_json({fs_json("cube-fs", "cubeShared", "{}")}));
  dir.write("state.json", cube_state_json({{.id = "cube-fs", .tag = "cubeShared"}}));
  const Opened opened = open_path(dir.path());
  ASSERT_TRUE(opened.ok()) << opened.text();
  const CubeBackend& backend = opened.device().cube.value();
  EXPECT_EQ(backend.shared_dir, "");
  EXPECT_EQ(backend.cache, 2);
  EXPECT_TRUE(backend.read_only);
  EXPECT_FALSE(backend.writeback || backend.posix_acl || backend.announce_submounts ||
               backend.allow_direct_io || backend.remap_filter);
  EXPECT_EQ(backend.rlimit_nofile, 0U);
  EXPECT_FALSE(backend.allowed_dirs);
}

TEST(Cube, ReadsAllOptions) {
  const TempDir dir;
  dir.write("config.json",
            config_json({fs_json("d", "d",
                                 R"({"shared_dir":"/s","thread_pool_size":4,"xattr":true,)"
                                 R"("posix_acl":true,"xattrmap":null,"announce_submounts":)"
                                 R"(true,"writeback":true,"allow_direct_io":true,)"
                                 R"("rlimit_nofile":1024,"remap_filter":true,)"
                                 R"("allowed_dirs":["/a","/b"],"unknown":{"x":[1]}})")}));
  dir.write("state.json", cube_state_json({{.id = "d"}}));
  const Opened opened = open_path(dir.path());
  ASSERT_TRUE(opened.ok()) << opened.text();
  const CubeBackend& backend = opened.device().cube.value();
  EXPECT_TRUE(backend.writeback && backend.posix_acl && backend.announce_submounts &&
              backend.allow_direct_io && backend.remap_filter);
  EXPECT_EQ(backend.rlimit_nofile, 1024U);
  EXPECT_EQ(backend.thread_pool_size, 4U);
  EXPECT_THAT(backend.allowed_dirs.value(), ElementsAre("/a", "/b"));
}

TEST(Cube, AbsentNullAndEmptyStatesAreToldApart) {
  for (const auto& [text, has_state] : {std::pair("", false), std::pair("null", false),
                                        std::pair("[]", true), std::pair("[ ]", true)}) {
    const TempDir dir;
    dir.write("config.json", config_json({fs_json("virtio_rw", "virtio_rw", kBackend)}));
    dir.write("state.json", cube_state_json({{.state = text}}));
    const Opened opened = open_path(dir.path());
    ASSERT_TRUE(opened.ok()) << opened.text();
    EXPECT_EQ(opened.device().state.has_value(), has_state) << text;
    EXPECT_THAT(opened.device().state.value_or(ByteVector()), IsEmpty());
  }
}

TEST(Cube, ADeviceThatOnlyConfigNamesHasNoState) {
  const TempDir dir;
  dir.write("config.json", config_json({fs_json("virtio_ro", "virtio_ro", kBackend),
                                        fs_json("virtio_rw", "virtio_rw", kBackend)}));
  dir.write("state.json", cube_state_json({{.id = "virtio_rw", .state = "[1]"}}));
  const Opened opened = open_path(dir.path());
  ASSERT_TRUE(opened.ok()) << opened.text();
  ASSERT_EQ(opened.result->devices.size(), 2U);
  EXPECT_EQ(opened.device(0).id, "virtio_ro");
  EXPECT_EQ(opened.device(0).tag, "virtio_ro");
  EXPECT_FALSE(opened.device(0).state);
  EXPECT_EQ(opened.device(1).state, bytes_of({1}));
}

TEST(Cube, ADeviceThatConfigDoesNotNameIsFoundByItsState) {
  const TempDir dir;
  dir.write("config.json", config_json({}));
  dir.write("state.json", cube_state_json({{.id = "_fs3", .state = "[1]"}, {.id = "_fs2"}}));
  const Opened opened = open_path(dir.path());
  ASSERT_TRUE(opened.ok()) << opened.text();
  ASSERT_EQ(opened.result->devices.size(), 2U);
  EXPECT_EQ(opened.device(0).id, "_fs2");
  EXPECT_EQ(opened.device(1).id, "_fs3");
  EXPECT_FALSE(opened.device(1).cube);
  EXPECT_THAT(opened.device(1).notes, ElementsAre("config.json does not name it"));
}

TEST(Cube, ReadsThePackageLayout) {
  const TempDir dir;
  dir.write("snapshot/config.json", config_json({fs_json("virtio_rw", "virtio_rw", kBackend)}));
  dir.write("snapshot/state.json", cube_state_json({{.state = "[5]"}}));
  dir.write("snapshot/memory.dev", "/dev/dm-7");
  dir.write("metadata.json", "{}");
  dir.write("sandbox_spec.json", "{}");
  const Opened opened = open_path(dir.path());
  ASSERT_TRUE(opened.ok()) << opened.text();
  EXPECT_EQ(opened.device().state, bytes_of({5}));
  EXPECT_EQ(opened.device().span.file, dir / "snapshot/state.json");
  EXPECT_THAT(
      opened.result->not_read,
      ElementsAre(dir / "snapshot/memory.dev", dir / "metadata.json", dir / "sandbox_spec.json"));
}

TEST(Cube, TheLastOfTwoEqualKeysCounts) {
  const TempDir dir;
  dir.write("config.json", config_json({fs_json("virtio_rw", "virtio_rw", kBackend)}));
  dir.write("state.json",
            cube_state_json({{.state = "[1,2,3],\"back_state\":[4]"},
                             {.id = "virtio_rw", .state = "[7],\"back_state\":[8]"}}));
  const Opened opened = open_path(dir.path());
  ASSERT_TRUE(opened.ok()) << opened.text();
  ASSERT_EQ(opened.result->devices.size(), 1U);
  EXPECT_EQ(opened.device().state, bytes_of({8}));
  EXPECT_EQ(text_at(opened.device().span), "8");
}

TEST(Cube, RefusesWhatIsNoByteWithItsPlace) {
  const std::string with_hole = cube_state_json({{.state = "[1,2,300,4]"}});
  const TempDir dir;
  dir.write("config.json", config_json({}));
  dir.write("state.json", with_hole);
  const Opened opened = open_path(dir.path());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.code(), ErrorCode::kFormat);
  EXPECT_EQ(opened.recognised, ContainerKind::kCube);
  EXPECT_EQ(opened.text(), fmt::format("{}/state.json: device virtio_rw: back_state: byte {}: "
                                       "expected a number from 0 to 255 (element 2)",
                                       dir.path(), with_hole.find("300")));
}

// A newer version may write something else; that is not damage.
TEST(Cube, WhatItDoesNotKnowIsNotCalledDamaged) {
  const auto text_for = [](const std::string& backend, const std::string& state) {
    const TempDir dir;
    dir.write("config.json", config_json({fs_json("virtio_rw", "virtio_rw", backend)}));
    dir.write("state.json", cube_state_json({{.state = state}}));
    const Opened opened = open_path(dir.path());
    EXPECT_EQ(opened.recognised, ContainerKind::kCube);
    return opened.ok() ? std::string() : opened.text().substr(dir.path().size());
  };
  EXPECT_THAT(text_for(R"({"cache":"auto"})", "[]"),
              HasSubstr("fs[0].backendfs_config.cache is not 0, 1, 2 or 3"));
  EXPECT_THAT(text_for(R"({"cache":4})", "[]"), HasSubstr("cache is not 0, 1, 2 or 3"));
  EXPECT_THAT(text_for(R"({"shared_dir":5})", "[]"), HasSubstr("shared_dir is not a string"));
  EXPECT_THAT(text_for(R"({"writeback":1})", "[]"), HasSubstr("writeback is not true or false"));
  EXPECT_THAT(text_for(R"({"allowed_dirs":"/a"})", "[]"),
              HasSubstr("allowed_dirs is not an array"));
  EXPECT_THAT(text_for("[]", "[]"), HasSubstr("backendfs_config is not an object"));
  EXPECT_THAT(text_for("{}", "\"AQID\""), HasSubstr("back_state is not an array"));
  EXPECT_EQ(text_for(R"({"shared_dir":null,"cache":null})", "[]"), "");

  const TempDir dir;
  dir.write("config.json", config_json({fs_json("virtio_rw", "virtio_rw", "{}")}));
  dir.write("state.json", cube_state_json({{.state = "\"AQID\""}}));
  EXPECT_EQ(open_path(dir.path()).code(), ErrorCode::kUnsupported);
}

TEST(Cube, TellsATornStateFromCubesAndOthers) {
  const TempDir dir;
  dir.write("config.json", config_json({fs_json("virtio_rw", "virtio_rw", kBackend)}));
  dir.write("state.json", "");
  const Opened opened = open_path(dir.path());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.code(), ErrorCode::kFormat);
  EXPECT_EQ(opened.recognised, ContainerKind::kCube);
  EXPECT_EQ(opened.text(),
            (dir / "state.json") + ": byte 0: the text ends here; expected a JSON value");
}

TEST(Cube, AMissingStateIsASystemErrorWhereConfigTellsWhoseItIs) {
  const TempDir dir;
  dir.write("config.json", config_json({fs_json("virtio_rw", "virtio_rw", kBackend)}));
  const Opened opened = open_path(dir.path());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.code(), ErrorCode::kSystem);
  EXPECT_EQ(opened.recognised, ContainerKind::kCube);
  EXPECT_THAT(opened.text(), HasSubstr("state.json: cannot be opened: No such file"));
}

TEST(Cube, ReadsWithoutAConfig) {
  const TempDir dir;
  dir.write("state.json", cube_state_json({{.state = "[1]"}}));
  const Opened opened = open_path(dir.path());
  ASSERT_TRUE(opened.ok()) << opened.text();
  EXPECT_EQ(opened.result->kind, ContainerKind::kCube);
  EXPECT_THAT(opened.result->notes, ElementsAre("config.json is missing"));
  EXPECT_THAT(opened.device().notes, IsEmpty());
}

class Overlay : public testing::Test {
 protected:
  Opened open_with(const std::string& overlay) {
    dir_.write("config.json",
               config_json({fs_json("virtio_rw", "virtio_rw",
                                    R"({"shared_dir":"/old","cache":0,"read_only":false,)"
                                    R"("allowed_dirs":["/x"]})"),
                            fs_json("plain", "plain", "")}));
    dir_.write("state.json", cube_state_json({{.state = "[1]"}}));
    return open_path(dir_.path(), {.overlay_file = dir_.write("overlay", overlay)});
  }
  TempDir dir_;
};

TEST_F(Overlay, TakesOverDirectoryAndCacheAndNotReadOnly) {
  const Opened opened = open_with(
      R"([{"id":"virtio_rw","backendfs_config":{"shared_dir":"/new","read_only":true,"cache":3}}])");
  ASSERT_TRUE(opened.ok()) << opened.text();
  const CubeBackend& backend = opened.device().cube.value();
  EXPECT_EQ(backend.shared_dir, "/new");
  EXPECT_EQ(backend.cache, 3);
  EXPECT_FALSE(backend.read_only);
  EXPECT_THAT(backend.allowed_dirs.value(), ElementsAre("/x"));
}

TEST_F(Overlay, OverwritesWithDefaultsWhatItOmits) {
  const Opened opened =
      open_with(R"([{"id":"virtio_rw","backendfs_config":{"allowed_dirs":["/y","/z"]}}])");
  ASSERT_TRUE(opened.ok()) << opened.text();
  const CubeBackend& backend = opened.device().cube.value();
  EXPECT_EQ(backend.shared_dir, "");
  EXPECT_EQ(backend.cache, 2);
  EXPECT_THAT(backend.allowed_dirs.value(), ElementsAre("/y", "/z"));
}

TEST_F(Overlay, HasNoEffectWithoutABackendInConfig) {
  const Opened opened = open_with(R"([{"id":"plain","backendfs_config":{"shared_dir":"/n"}},)"
                                  R"({"id":"virtio_rw"}])");
  ASSERT_TRUE(opened.ok()) << opened.text();
  EXPECT_EQ(opened.device(0).cube->shared_dir, "/old");
  EXPECT_FALSE(opened.device(1).cube);
  EXPECT_THAT(opened.result->notes, ElementsAre(HasSubstr("plain has no backendfs_config")));
}

TEST_F(Overlay, DamagedOrMissingIsTheUsersMistake) {
  const Opened damaged = open_with(R"({"id":"virtio_rw"})");
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.code(), ErrorCode::kUsage);
  EXPECT_EQ(damaged.text(), (dir_ / "overlay") + ": byte 0: the JSON text is not an array");
  const Opened missing = open_path(dir_.path(), {.overlay_file = dir_ / "none"});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace vfsmend::test
