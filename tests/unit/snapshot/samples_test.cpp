// SPDX-License-Identifier: Apache-2.0
// The states and streams that real daemons and a real QEMU wrote (fixtures/samples).
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "open_fixture.h"
#include "state/codec.h"
#include "state/guess.h"

namespace vfsmend::test {
namespace {

const std::string kSamples = VFSMEND_SOURCE_DIR "/fixtures/samples/";

std::vector<std::string> files_in(const std::string& folder, const std::string& extension) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kSamples + folder)) {
    if (entry.path().extension() == extension) out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

void expect_round_trip(const std::string& path) {
  const Opened opened = open_path(path);
  ASSERT_TRUE(opened.ok()) << opened.text();
  EXPECT_EQ(opened.result->kind, ContainerKind::kRaw);
  EXPECT_FALSE(opened.recognised);
  EXPECT_EQ(opened.device().id, "raw");
  const ByteVector& state = opened.device().state.value();
  EXPECT_EQ(opened.device().span.end, state.size());
  const auto decoded = decode(state, Reader::kVirtiofsd);
  ASSERT_TRUE(decoded) << path << ": " << decoded.error().field;
  EXPECT_EQ(decoded->consumed, state.size());
  EXPECT_TRUE(looks_healthy(decoded->state)) << path;
  EXPECT_EQ(encode(decoded->state, decoded->dialect), state) << path;
}

TEST(Samples, StatesDecodeAndEncodeToTheSameBytes) {
  const auto states = files_in("virtiofsd", ".bin");
  EXPECT_EQ(states.size(), 17U);
  for (const std::string& path : states) expect_round_trip(path);
  const auto extracted = files_in("qemu", ".bin");
  EXPECT_EQ(extracted.size(), 4U);
  for (const std::string& path : extracted) expect_round_trip(path);
}

// Unpacks a sample with the gzip program.
std::string unpacked(const TempDir& dir, const std::string& name) {
  const std::string out = dir / name;
  const std::string command = "gzip -dc '" + kSamples + "qemu/" + name + ".gz' > '" + out + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  return out;
}

TEST(Samples, AQemuStreamOfAVmThatNeverRan) {
  const TempDir dir;
  const Opened opened = open_path(unpacked(dir, "qemu10-unstarted-guest.qemustate"));
  ASSERT_TRUE(opened.ok()) << opened.text();
  ASSERT_EQ(opened.result->devices.size(), 1U);
  EXPECT_EQ(opened.device().id, "0000:00:01.0");
  EXPECT_FALSE(opened.device().tag);  // no driver ever read the configuration
  EXPECT_EQ(opened.device().state, bytes_of({1, 0, 2, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(opened.device().span.begin, 292536U);
  EXPECT_EQ(opened.device().span.end, 292554U);
}

TEST(Samples, AQemuStreamOfALinuxGuest) {
  const TempDir dir;
  const Opened opened = open_path(unpacked(dir, "qemu10-x-ignore-shared.qemustate"));
  ASSERT_TRUE(opened.ok()) << opened.text();
  ASSERT_EQ(opened.result->devices.size(), 1U);
  EXPECT_EQ(opened.device().id, "0000:00:01.0");
  EXPECT_EQ(opened.device().tag, "myfs");
  EXPECT_EQ(opened.device().state, read_bytes(kSamples + "qemu/qemu10-x-ignore-shared-0.bin"));
}

TEST(Samples, AStreamWithoutItsVmdescGivesTheSame) {
  const TempDir dir;
  for (const char* name :
       {"qemu10-unstarted-guest.qemustate", "qemu10-x-ignore-shared.qemustate"}) {
    const std::string path = unpacked(dir, name);
    const Opened whole = open_path(path);
    ASSERT_TRUE(whole.ok()) << whole.text();
    const std::string bytes = read_text(path);
    const std::size_t vmdesc = bytes.rfind("{\"configuration\"") - 5;
    const Opened cut = open_path(dir.write("cut", bytes.substr(0, vmdesc)));
    ASSERT_TRUE(cut.ok()) << cut.text();
    ASSERT_EQ(cut.result->devices.size(), 1U);
    EXPECT_EQ(cut.device().state, whole.device().state);
    EXPECT_EQ(cut.device().tag, whole.device().tag);
    EXPECT_EQ(cut.device().span.begin, whole.device().span.begin);
  }
}

TEST(Samples, APackedStreamIsNamedAsSuch) {
  const Opened opened = open_path(kSamples + "qemu/qemu10-unstarted-guest.qemustate.gz");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(opened.text(), testing::HasSubstr("compressed with gzip"));
}

}  // namespace
}  // namespace vfsmend::test
