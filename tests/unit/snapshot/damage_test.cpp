// SPDX-License-Identifier: Apache-2.0
// Snapshots with every bit turned over and cut off at every byte: each gives a Result, and an error
// that names the file and the place in it.
#include <gmock/gmock.h>

#include <functional>
#include <map>

#include "open_fixture.h"
#include "support/memory_calls.h"
#include "support/qemu_builder.h"
#include "support/vm_snapshot_builder.h"

namespace vfsmend::test {
namespace {

using Files = std::map<std::string, std::string_view>;

void expect_sound(const Opened& opened,
                  const std::function<std::size_t(const std::string&)>& size_of) {
  if (opened.ok()) {
    for (const SnapshotDevice& device : opened.result->devices) {
      if (!device.state) continue;
      EXPECT_LE(device.span.begin, device.span.end);
      EXPECT_LE(device.span.end, size_of(device.span.file));
    }
    return;
  }
  EXPECT_THAT(opened.text(), testing::StartsWith("/snapshot"));
  if (opened.code() != ErrorCode::kFormat) return;
  EXPECT_THAT(opened.text(), testing::ContainsRegex(": byte [0-9]+: "));
}

// Calls `tries` with each cut of `bytes`, then with each bit turned over, and leaves them whole.
void damage(std::string& bytes, const std::function<void()>& tries) {
  const std::string whole = bytes;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    bytes = whole.substr(0, size);
    SCOPED_TRACE(testing::Message() << "cut at " << size);
    tries();
  }
  bytes = whole;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<char>(whole[bit / 8] ^ (1 << bit % 8));
    SCOPED_TRACE(testing::Message() << "bit " << bit % 8 << " of byte " << bit / 8);
    tries();
    bytes[bit / 8] = whole[bit / 8];
  }
}

void damage_directory(std::string config, std::string state, ContainerKind kind) {
  const auto tries = [&] {
    MemoryCalls calls(Files{{"config.json", config}, {"state.json", state}});
    const Opened opened = open_path(std::string(MemoryCalls::kPath), {}, calls);
    expect_sound(opened, [&](const std::string&) { return state.size(); });
    EXPECT_TRUE(opened.ok() || opened.recognised == kind) << opened.text();
  };
  damage(state, tries);
  damage(config, tries);
}

TEST(Damage, OfACubeDirectory) {
  damage_directory(config_json({fs_json("virtio_rw", "virtio_rw",
                                        R"({"shared_dir":"/d","cache":1,"allowed_dirs":["/a"]})")}),
                   cube_state_json({{.state = "[1,0,2,0,0,0,0,0,255,0]"}}), ContainerKind::kCube);
}

TEST(Damage, OfACloudHypervisorDirectory) {
  damage_directory(config_json({fs_json("_fs1", "myfs", "")}),
                   ch_state_json({{.id = "_fs1",
                                   .tag = "myfs",
                                   .state = "[1,0,2,0,0,0,0,0,255,0]",
                                   .before = ",\"vu_num_queues\":2,\"vring_bases\":[4,5]"}}),
                   ContainerKind::kCloudHypervisor);
}

TEST(Damage, OfAnOverlay) {
  const std::string config = config_json({fs_json("virtio_rw", "virtio_rw", "{}")});
  const std::string state = cube_state_json({{.state = "[1]"}});
  std::string overlay = R"([{"id":"virtio_rw","backendfs_config":{"shared_dir":"/n","cache":0}}])";
  damage(overlay, [&] {
    MemoryCalls calls(Files{{"config.json", config}, {"state.json", state}, {"overlay", overlay}});
    const Opened opened =
        open_path(std::string(MemoryCalls::kPath), {.overlay_file = "/snapshot/overlay"}, calls);
    EXPECT_TRUE(opened.ok() || opened.code() == ErrorCode::kUsage) << opened.text();
  });
}

void damage_stream(std::string bytes) {
  damage(bytes, [&] {
    MemoryCalls calls{std::string_view(bytes)};
    const Opened opened = open_path(std::string(MemoryCalls::kPath), {}, calls);
    expect_sound(opened, [&](const std::string&) { return bytes.size(); });
  });
}

TEST(Damage, OfAQemuStream) {
  const std::string state("\x01\x00\x02\x00\x00\x00\x00\x00\x00\x00", 10);
  for (const bool vmdesc : {true, false}) {
    QemuFile file;
    file.devices = {{.state = state, .chunk = 6}};
    file.vmdesc = vmdesc;
    damage_stream(qemu_file(file));
  }
}

// The device's section of a real stream, and what lies around it.
TEST(Damage, OfARealQemuStreamAtSampledPlaces) {
  const TempDir dir;
  const std::string command = "gzip -dc '" VFSMEND_SOURCE_DIR
                              "/fixtures/samples/qemu/"
                              "qemu10-x-ignore-shared.qemustate.gz' > '" +
                              (dir / "s") + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::string bytes = read_text(dir / "s");
  constexpr std::size_t kPlaces = 4096;
  const std::size_t section = bytes.find("0000:00:01.0/vhost-user-fs");
  const std::size_t mark = bytes.find("vhost-user-fs-backend");
  const std::size_t vmdesc = bytes.rfind("{\"configuration\"") - 5;
  for (std::size_t i = 0; i < kPlaces; ++i) {
    // A third each: the whole stream, the end of the section, around its header.
    const std::size_t spread = i * 2654435761U;
    const std::size_t at = i % 3 == 0   ? spread % bytes.size()
                           : i % 3 == 1 ? mark - 1024 + spread % 8192
                                        : section - 1024 + spread % 2048;
    const char old = bytes[at];
    bytes[at] = static_cast<char>(old ^ (1 << i % 8));
    // Every second one without the description.
    MemoryCalls calls{std::string_view(bytes).substr(0, i % 2 == 0 ? bytes.size() : vmdesc)};
    const Opened opened = open_path(std::string(MemoryCalls::kPath), {}, calls);
    SCOPED_TRACE(testing::Message() << "byte " << at);
    expect_sound(opened, [&](const std::string&) { return bytes.size(); });
    bytes[at] = old;
  }
}

}  // namespace
}  // namespace vfsmend::test
