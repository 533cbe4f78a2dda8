// SPDX-License-Identifier: Apache-2.0
// What no state can be put into, and that it is left as it is.
#include <gmock/gmock.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "open_fixture.h"
#include "snapshot/splice.h"
#include "support/qemu_builder.h"
#include "support/vm_snapshot_builder.h"

namespace vfsmend::test {
namespace {

using testing::HasSubstr;

std::size_t entries(const TempDir& dir) {
  const std::filesystem::directory_iterator all(dir.path());
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

Result<SplicedFile> plan(const Opened& opened, const std::vector<Replacement>& states) {
  return splice(sys::kernel(), *opened.result, states);
}

void expect_error(const Opened& opened, const std::vector<Replacement>& states, ErrorCode code,
                  const std::string& text) {
  ASSERT_TRUE(opened.ok()) << opened.text();
  const auto planned = plan(opened, states);
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().code, code);
  EXPECT_THAT(planned.error().text, HasSubstr(text));
}

TEST(SpliceErrors, DevicesThatCannotBeMeant) {
  const TempDir dir;
  dir.write("state.json", cube_state_json({{.id = "virtio_rw", .state = "[1]"}}));
  const Opened opened = open_path(dir.path());
  expect_error(opened, {}, ErrorCode::kUsage, dir.path() + ": no state to put in");
  expect_error(opened, {{"other", {1}}}, ErrorCode::kUsage, "device other: the snapshot has no");
  expect_error(opened, {{"virtio_rw", {1}}, {"virtio_rw", {2}}}, ErrorCode::kUsage,
               "device virtio_rw: two states for it");

  const std::string twice =
      dir.write("stream", qemu_file({.devices = {{.state = "a"}, {.state = "b"}}}));
  expect_error(open_path(twice), {{"0000:00:01.0", {3}}}, ErrorCode::kUnsupported,
               "device 0000:00:01.0: the snapshot holds two of that name");
}

TEST(SpliceErrors, DevicesWithoutAState) {
  const TempDir cube;
  cube.write("state.json", cube_state_json({{.id = "a", .state = ""}, {.id = "b", .state = "[]"}}));
  cube.write("config.json", config_json({fs_json("a", "a", "{}")}));
  expect_error(open_path(cube.path()), {{"a", {1}}}, ErrorCode::kUnsupported,
               "device a: the snapshot holds no state of it");
  EXPECT_TRUE(plan(open_path(cube.path()), {{"b", {1}}}));  // an empty one has a place

  const TempDir ch;
  ch.write("state.json",
           ch_state_json({{.id = "a", .state = "null", .before = ",\"vring_bases\":null"}}));
  expect_error(open_path(ch.path()), {{"a", {1}}}, ErrorCode::kUnsupported, "holds no state of it");

  const TempDir qemu;
  const std::string stream = qemu.write("stream", qemu_file({.devices = {{.has_backend = false}}}));
  expect_error(open_path(stream), {{"0000:00:01.0", {1}}}, ErrorCode::kUnsupported,
               "holds no state of it");
}

// A name that a guest chose, and that looks like the section of a device.
TEST(SpliceErrors, StatesThatOverlap) {
  const QemuDevice inner{.idstr = "0000:00:02.0/vhost-user-fs", .state = "inner"};
  QemuFile file{.devices = {{.state = qemu_section(inner, true) + std::string(1, '\0')}},
                .vmdesc = false};
  const TempDir dir;
  const Opened opened = open_path(dir.write("stream", qemu_file(file)));
  expect_error(opened, {{"0000:00:01.0", {1}}, {"0000:00:02.0", {2}}}, ErrorCode::kFormat,
               "what is to be replaced overlaps");
}

TEST(SpliceErrors, AFileThatChangedIsLeftAlone) {
  const TempDir dir;
  const std::string path = dir.write("state", "state");
  const auto expect_busy = [&](const Opened& opened) {
    const auto planned = plan(opened, {{"raw", {1}}});
    ASSERT_FALSE(planned);
    EXPECT_EQ(planned.error().code, ErrorCode::kSystem);
    EXPECT_EQ(planned.error().sys_errno, EBUSY);
    EXPECT_THAT(planned.error().text, HasSubstr(path + ": changed since it was read"));
  };
  const Opened torn = open_path(path);
  std::filesystem::resize_file(path, 3);
  expect_busy(torn);

  const Opened same_size = open_path(path);
  dir.write("state", "STA");
  expect_busy(same_size);

  const Opened replaced = open_path(path);
  dir.write("new", "new");
  std::filesystem::rename(dir / "new", path);
  expect_busy(replaced);
}

TEST(SpliceErrors, AFileThatChangesBeforeItIsWrittenIsLeftAlone) {
  for (const bool replace : {true, false}) {
    const TempDir dir;
    const std::string path = dir.write("stream", qemu_file({.devices = {{.state = "old"}}}));
    const auto planned = plan(open_path(path), {{"0000:00:01.0", {1, 2, 3}}});
    ASSERT_TRUE(planned) << planned.error().text;
    if (replace) {
      dir.write("new", "new");
      std::filesystem::rename(dir / "new", path);
    } else {
      std::filesystem::resize_file(path, 100);
    }
    const std::string before = read_text(path);
    const auto written = write_spliced(sys::kernel(), sys::kernel_changes(), *planned, "kept");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().sys_errno, EBUSY);
    EXPECT_EQ(read_text(path), before);
    EXPECT_EQ(entries(dir), 1U);
  }
}

TEST(SpliceErrors, NamesUnderWhichNothingIsKept) {
  const TempDir dir;
  const std::string path = dir.write("state", "state");
  dir.write("taken", "something");
  const auto planned = plan(open_path(path), {{"raw", {1}}});
  ASSERT_TRUE(planned);
  for (const std::string name : {"", ".", "..", "a/b", "/x", "taken", "state"}) {
    const auto written = write_spliced(sys::kernel(), sys::kernel_changes(), *planned, name);
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().code, ErrorCode::kUsage) << name;
  }
  EXPECT_EQ(read_text(path), "state");
  EXPECT_EQ(read_text(dir / "taken"), "something");
  EXPECT_EQ(entries(dir), 2U);
}

}  // namespace
}  // namespace vfsmend::test
