// SPDX-License-Identifier: Apache-2.0
// States that are put into snapshots of each kind. What has to come out is what the builders write
// with the new state from the start; so every byte of the file is looked at.
#include "snapshot/splice.h"

#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "open_fixture.h"
#include "support/qemu_builder.h"
#include "support/vm_snapshot_builder.h"

namespace vfsmend::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kChunk = 65536;  // of what QEMU writes
constexpr std::array<std::size_t, 10> kSizes = {
    0, 1, 2, 10, 1000, kChunk - 1, kChunk, kChunk + 1, 2 * kChunk, 200'000};

std::string random_state(std::size_t size) {
  static std::mt19937 engine(20240607);  // NOLINT(cert-msc51-cpp): the same in every run
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(engine());
  return out;
}

ByteVector bytes(std::string_view text) {
  return {text.begin(), text.end()};
}

std::string numbers(std::string_view state) {
  return json_numbers(as_bytes(state));
}

using States = std::vector<std::pair<std::string, std::string>>;  // device, state

std::vector<Replacement> replacements(const States& states) {
  std::vector<Replacement> out;
  for (const auto& [device, state] : states) out.push_back({device, bytes(state)});
  return out;
}

// Opens `path`, puts the states in, keeps the original as `kept`; -> the path of the file.
Result<sys::ReplacedFile> put_in(const std::string& path, const States& states,
                                 const std::string& kept) {
  std::optional<ContainerKind> recognised;
  VFSMEND_TRY_ASSIGN(const Snapshot snapshot, open_snapshot(sys::kernel(), path, {}, recognised));
  VFSMEND_TRY_ASSIGN(const SplicedFile spliced,
                     splice(sys::kernel(), snapshot, replacements(states)));
  VFSMEND_TRY_ASSIGN(sys::ReplacedFile done, write_spliced(sys::kernel(), sys::kernel_changes(), spliced, kept));
  EXPECT_EQ(done.stamp.size, spliced.size);
  return done;
}

// Puts states into the snapshot `path`, whose file is `file` and then has to hold `want`; then
// those that were there, which has to give the first file again.
void expect_there_and_back(const std::string& path, const std::string& file, const States& states,
                           const States& old, const std::string& want) {
  const std::string before = read_text(file);
  const auto done = put_in(path, states, "kept");
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_TRUE(read_text(file) == want);
  EXPECT_TRUE(read_text(done->kept) == before);
  const Opened opened = open_path(path);
  ASSERT_TRUE(opened.ok()) << opened.text();
  for (const auto& [id, state] : states) {
    for (const SnapshotDevice& device : opened.result->devices) {
      if (device.id != id) continue;
      EXPECT_TRUE(as_text(device.state.value()) == state);
    }
  }
  std::filesystem::remove(done->kept);
  const auto back = put_in(path, old, "kept");
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_TRUE(read_text(file) == before);
  std::filesystem::remove(back->kept);
}

TEST(Splice, ARawStateIsTheWholeFile) {
  const TempDir dir;
  const std::string old = random_state(77);
  const std::string path = dir.write("state", old);
  for (const std::size_t size : kSizes) {
    if (size == 0) continue;  // an empty file is a raw state too, and nobody's
    const std::string state = random_state(size);
    expect_there_and_back(path, path, {{"raw", state}}, {{"raw", old}}, state);
  }
}

TEST(Splice, DigitsInACubeSandbox) {
  const std::string old = random_state(300);
  for (const std::size_t size : kSizes) {
    const TempDir dir;
    const std::string state = random_state(size);
    const std::string other = random_state(50);
    const auto file_with = [&](const std::string& rw) {
      return cube_state_json({{.id = "virtio_ro", .state = numbers(other)},
                              {.id = "virtio_rw", .state = numbers(rw)},
                              {.id = "cube-fs", .state = ""}});
    };
    dir.write("snapshot/config.json", config_json({fs_json("virtio_rw", "virtio_rw", "{}")}));
    dir.write("metadata.json", "{}");
    const std::string file = dir.write("snapshot/state.json", file_with(old));
    expect_there_and_back(dir.path(), file, {{"virtio_rw", state}}, {{"virtio_rw", old}},
                          file_with(state));
  }
}

TEST(Splice, DigitsInACloudHypervisor) {
  const std::string old = random_state(300);
  for (const std::size_t size : kSizes) {
    const TempDir dir;
    const std::string state = random_state(size);
    const std::string second = random_state(size + 7);
    const auto file_with = [&](const std::string& a, const std::string& b) {
      const std::string before = ",\"vring_bases\":[4,5],\"vu_num_queues\":2";
      return ch_state_json({{.id = "_fs1", .state = numbers(a), .before = before},
                            {.id = "_fs0", .state = numbers(b), .before = before}});
    };
    dir.write("config.json", config_json({fs_json("_fs0", "a", ""), fs_json("_fs1", "b", "")}));
    const std::string file = dir.write("state.json", file_with(old, old + "x"));
    // Against the order of the file.
    expect_there_and_back(dir.path(), file, {{"_fs0", second}, {"_fs1", state}},
                          {{"_fs0", old + "x"}, {"_fs1", old}}, file_with(state, second));
  }
}

// Blanks, the order of keys, numbers that a double does not hold, escapes of whatever form.
TEST(Splice, NothingElseOfAJsonFileIsTouched) {
  const std::string head =
      "{ \"snapshots\" :\n {\"device-manager\":{\"id\":\"device-manager\",\"snapshot_data\":{},"
      "\"snapshots\":{\"virtio_rw\":{\"id\":\"virtio_rw\",\"snapshots\":{},\"snapshot_data\":"
      "{\"virtio_rw-section\":{\"snapshot\":\"{\\u0022z\\\":18446744073709551615,\\\"back_"
      "state\\\":"
      "\\n [";
  const std::string tail =
      "] , \\\"a\\\":1.50,\\\"e\\\":\\\"\\u00e9\\\\n\\\"}\",\"id\":\"x\"}}}}}},\"id\":\"vm\","
      "\"snapshot_data\":{}, \"zz\": 9007199254740993 }\n\n";
  const TempDir dir;
  const std::string file = dir.write("state.json", head + " 1 ,\\t20, \\u0033\\n" + tail);
  const auto done =
      put_in(dir.path(), {{"virtio_rw", std::string("\xff\x00\x0a\x63\x64", 5)}}, "k");
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(read_text(file), head + "255,0,10,99,100" + tail);
  const auto emptied = put_in(dir.path(), {{"virtio_rw", ""}}, "k2");
  ASSERT_TRUE(emptied) << emptied.error().text;
  EXPECT_EQ(read_text(file), head + tail);
}

// Of two nodes of one name a reader takes the last.
TEST(Splice, ANodeThatStandsTwice) {
  const auto file_with = [](const std::string& last) {
    return cube_state_json(
        {{.id = "virtio_rw", .state = "[1,2,3]"}, {.id = "virtio_rw", .state = last}});
  };
  const TempDir dir;
  const std::string file = dir.write("state.json", file_with("[4]"));
  const auto done = put_in(dir.path(), {{"virtio_rw", "\x05\x06"}}, "kept");
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(read_text(file), file_with("[5,6]"));
}

TEST(Splice, ChunksInAQemuStream) {
  const std::string old = random_state(30);
  for (const std::size_t size : kSizes) {
    for (const bool footers : {true, false}) {
      QemuFile file{.memory = random_state(5000),
                    .devices = {{.idstr = "0000:00:02.0:00.0/vhost-user-fs",
                                 .state = random_state(90'000),
                                 .chunk = 1000,  // another writer's; it stays
                                 .section_id = 12},
                                {.state = old, .chunk = kChunk, .section_id = 13}},
                    .footers = footers};
      const TempDir dir;
      const std::string path = dir.write("stream", qemu_file(file));
      const std::string state = random_state(size);
      file.devices[1].state = state;
      expect_there_and_back(path, path, {{"0000:00:01.0", state}}, {{"0000:00:01.0", old}},
                            qemu_file(file));
    }
  }
}

TEST(Splice, SeveralDevicesOfAQemuStream) {
  for (const std::size_t size : kSizes) {
    QemuFile file{
        .devices = {
            {.idstr = "0000:00:02.0/vhost-user-fs", .state = random_state(99'999), .chunk = kChunk},
            {.state = "old", .chunk = kChunk}}};
    const TempDir dir;
    const std::string path = dir.write("stream", qemu_file(file));
    const States old = {{"0000:00:02.0", file.devices[0].state}, {"0000:00:01.0", "old"}};
    file.devices[0].state = random_state(size);
    file.devices[1].state = random_state(size + 3);
    expect_there_and_back(
        path, path,
        {{"0000:00:01.0", file.devices[1].state}, {"0000:00:02.0", file.devices[0].state}}, old,
        qemu_file(file));
  }
}

// A state that decodes, without which a section that nothing describes is none.
std::string sound_state(std::size_t bytes) {
  std::string state("\x01\x01\x01\x02\x00\x00\x02\x00\x00\x00\x00\x00\x00\x01\x05", 15);
  for (std::size_t n = bytes; n > 0; n >>= 7) {
    state += static_cast<char>((n & 0x7f) | (n >= 0x80 ? 0x80 : 0));
  }
  return state + std::string(bytes, 'x');
}

TEST(Splice, AQemuStreamWithoutVmdesc) {
  for (const bool footers : {true, false}) {
    for (const std::size_t size : {5, 70'000, 300'000}) {
      QemuFile file{.devices = {{.state = sound_state(200), .chunk = kChunk}},
                    .footers = footers,
                    .vmdesc = false};
      const TempDir dir;
      const std::string path = dir.write("stream", qemu_file(file));
      file.devices[0].state = sound_state(size);
      expect_there_and_back(path, path, {{"0000:00:01.0", file.devices[0].state}},
                            {{"0000:00:01.0", sound_state(200)}}, qemu_file(file));
    }
  }
}

// The number in vmdesc is wrong; afterwards it is right.
TEST(Splice, AVmdescThatWasWrongIsRightAfterwards) {
  QemuFile file{.devices = {{.state = sound_state(50), .chunk = kChunk}}};
  std::string stream = qemu_file(file);
  stream[stream.rfind("\"size\": ") + 8] = '9';
  const TempDir dir;
  const std::string path = dir.write("stream", stream);
  const auto done = put_in(path, {{"0000:00:01.0", "new"}}, "kept");
  ASSERT_TRUE(done) << done.error().text;
  file.devices[0].state = "new";
  EXPECT_EQ(read_text(path), qemu_file(file));
}

TEST(Splice, ASizeInSeveralNumbersIsNotTouched) {
  std::string stream = qemu_file({.devices = {{.state = sound_state(50)}}, .vmdesc = true});
  const std::size_t at = stream.rfind("{\"name\": \"back-end\"");
  const std::string more = "{\"size\": 0}, ";
  const std::size_t length = stream.rfind("{\"page_size\"") - 4;
  const std::string grown = big_endian32(stream.size() - length - 4 + more.size());
  stream.replace(length, 4, grown).insert(at, more);
  const TempDir dir;
  const auto done = put_in(dir.write("stream", stream), {{"0000:00:01.0", "new"}}, "kept");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(done.error().text, HasSubstr("0000:00:01.0: vmdesc gives the size of its state in"));
}

// What real QEMUs wrote, and what they write of the same state.
TEST(Splice, RealQemuStreams) {
  for (const std::string name : {"qemu10-unstarted-guest", "qemu10-x-ignore-shared"}) {
    const TempDir dir;
    const std::string path = dir / "stream";
    const std::string command = "gzip -dc '" VFSMEND_SOURCE_DIR "/fixtures/samples/qemu/" + name +
                                ".qemustate.gz' > '" + path + "'";
    ASSERT_EQ(std::system(command.c_str()), 0);
    const Opened opened = open_path(path);
    ASSERT_TRUE(opened.ok()) << opened.text();
    const std::string old(as_text(*opened.device().state));
    const std::string whole = read_text(path);
    for (const std::size_t size : kSizes) {
      const std::string state = random_state(size);
      const std::string chunks = qemu_chunks({.state = state, .chunk = kChunk});
      const std::string old_size =
          fmt::format("\"virtio-fs back-end state\", \"size\": {}}}",
                      opened.device().span.end - opened.device().span.begin);
      const std::string new_size =
          fmt::format("\"virtio-fs back-end state\", \"size\": {}}}", chunks.size());
      std::string want = whole;
      const std::size_t json = want.rfind("{\"configuration\"");
      want.replace(want.rfind(old_size), old_size.size(), new_size);
      want.replace(json - 4, 4, big_endian32(want.size() - json));
      want.replace(opened.device().span.begin,
                   opened.device().span.end - opened.device().span.begin, chunks);
      expect_there_and_back(path, path, {{"0000:00:01.0", state}}, {{"0000:00:01.0", old}}, want);
    }
  }
}

TEST(Splice, AStateThatIsThereAlreadyChangesNoByte) {
  const TempDir dir;
  const std::string path =
      dir.write("stream", qemu_file({.devices = {{.state = "abcdefgh", .chunk = 3}}}));
  const Opened opened = open_path(path);
  const auto spliced =
      splice(sys::kernel(), *opened.result, replacements({{"0000:00:01.0", "abcdefgh"}}));
  ASSERT_TRUE(spliced) << spliced.error().text;
  EXPECT_THAT(spliced->edits, IsEmpty());
  EXPECT_EQ(spliced->size, std::filesystem::file_size(path));
}

}  // namespace
}  // namespace vfsmend::test
