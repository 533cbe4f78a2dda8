// SPDX-License-Identifier: Apache-2.0
// A damaged manifest is told, never half-used: cut anywhere, any bit flipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/manifest_builder.h"

namespace vfsmend {
namespace {

using testing::ContainsRegex;

void expect_refused(Bytes file) {
  const auto decoded = decode_manifest(file);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kFormat);
  EXPECT_THAT(decoded.error().text, ContainsRegex("bytes? [0-9]+"));
}

std::string error_of(Bytes file) {
  const auto decoded = decode_manifest(file);
  return decoded ? "read" : decoded.error().text;
}

TEST(DamagedManifest, CutAtEveryByte) {
  const ByteVector file = test::encoded(test::small_manifest());
  for (std::size_t size = 0; size < file.size(); ++size) {
    SCOPED_TRACE(size);
    expect_refused(Bytes(file).first(size));
  }
}

TEST(DamagedManifest, EachBitFlipped) {
  ByteVector file = test::encoded(test::small_manifest());
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    SCOPED_TRACE(bit);
    const auto mask = static_cast<std::uint8_t>(1U << (bit % 8));
    file[bit / 8] ^= mask;
    expect_refused(file);
    file[bit / 8] ^= mask;
  }
  EXPECT_TRUE(decode_manifest(file));
}

TEST(DamagedManifest, TheTextNamesThePlace) {
  const ByteVector file = test::encoded(test::small_manifest());
  const auto blocks = read_blocks(file);
  ASSERT_TRUE(blocks);
  EXPECT_EQ(error_of({}), "byte 0: not a manifest");
  EXPECT_EQ(error_of(Bytes(file).first(20)), "cut at byte 20, in its header");
  EXPECT_EQ(error_of(Bytes(file).first(500)), "cut at byte 500, in its table of 42 blocks");
  EXPECT_EQ(error_of(Bytes(file).first(file.size() - 3)),
            "cut at byte " + std::to_string(file.size() - 3) + " of " +
                std::to_string(file.size()));
  ByteVector longer = file;
  longer.push_back(0);
  EXPECT_EQ(error_of(longer), "byte " + std::to_string(file.size()) + ": 1 bytes behind its end");
  ByteVector damaged = file;
  const Block& names = (*blocks)[4];
  damaged[names.offset] ^= 1;
  EXPECT_EQ(error_of(damaged),
            "block node of section 1 at byte " + std::to_string(names.offset) + ": damaged");
  damaged = file;
  damaged[40] ^= 1;
  EXPECT_EQ(error_of(damaged), "bytes 0 to 1376: header and table are damaged");
  damaged = file;
  damaged[8] = 2;
  EXPECT_EQ(error_of(damaged), "byte 8: version 2 is not known");
}

}  // namespace
}  // namespace vfsmend
