// SPDX-License-Identifier: Apache-2.0
#include "snapshot/byte_array.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "support/vm_snapshot_builder.h"

namespace vfsmend::test {
namespace {

Result<ByteArray> scan(const std::string& text) {
  MemorySource source(as_bytes(text));
  JsonText window(source);
  return scan_byte_array(window, {0, text.size()});
}

std::string error_of(const std::string& text) {
  const auto scanned = scan(text);
  return scanned ? "" : scanned.error().text;
}

TEST(ByteArray, ReadsWhatWritersWrite) {
  const auto scanned = scan("0,9,10,99,100,255]");
  ASSERT_TRUE(scanned);
  EXPECT_EQ(scanned->values, (ByteVector{0, 9, 10, 99, 100, 255}));
  EXPECT_EQ(scanned->span.begin, 0U);
  EXPECT_EQ(scanned->span.end, 17U);
  EXPECT_TRUE(scan("]")->values.empty());
}

TEST(ByteArray, BlanksMayStandAnywhereBetween) {
  const auto scanned = scan(R"( 1 ,  2\n,\t3 , 40,50 \r ])");
  ASSERT_TRUE(scanned) << scanned.error().text;
  EXPECT_EQ(scanned->values, (ByteVector{1, 2, 3, 40, 50}));
}

TEST(ByteArray, RefusesEverythingElse) {
  for (const char* value : {"256", "1000", "00", "01", "-1", "1.0", "1e1", "null", "\\\"1\\\"",
                            "[1]", "", "+1", "0x1", "1 2", "99999999999999999999"}) {
    for (const char* format : {"{}]", "7,{}]", "{},7]", "7,8,9,10,11,{},12,13]"}) {
      const std::string text = fmt::format(fmt::runtime(format), value);
      if (text == "]") continue;  // the empty array
      EXPECT_FALSE(scan(text)) << text;
    }
  }
  EXPECT_EQ(error_of("1,2,256,3]"), "byte 4: expected a number from 0 to 255 (element 2)");
  EXPECT_EQ(error_of("1,2;3]"), "byte 3: expected ',' or ']' (element 2)");
  EXPECT_EQ(error_of("1,"),
            "byte 2: the JSON text in the string ends here; expected a number from "
            "0 to 255 (element 1)");
}

// Every length around the window's size, and a truncation at every place of a short one.
TEST(ByteArray, NeitherWindowsNorEndsConfuseIt) {
  std::mt19937 random(7);
  ByteVector values(150'000);
  for (std::uint8_t& v : values) v = static_cast<std::uint8_t>(random());
  std::string text = json_numbers(values).substr(1);
  for (std::size_t cut = 0; cut < 12; ++cut) {
    const auto scanned = scan(text);
    ASSERT_TRUE(scanned) << scanned.error().text;
    EXPECT_EQ(scanned->values, values);
    text.insert(0, "1,");
    values.insert(values.begin(), 1);
  }
  const std::string small = json_numbers(Bytes(values).first(60)).substr(1);
  for (std::size_t size = 0; size < small.size(); ++size) {
    EXPECT_FALSE(scan(small.substr(0, size))) << size;
  }
}

TEST(ByteArray, RandomArraysWithRandomBlanks) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    ByteVector values(random() % 40);
    std::string text;
    const auto blanks = [&] {
      while (random() % 4 == 0) text += (random() % 2 == 0) ? " " : "\\n";
    };
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::uint8_t>(random());
      if (i > 0) text += random() % 9 == 0 ? "\\u002c" : ",";
      blanks();
      text += std::to_string(values[i]);
      blanks();
    }
    const auto scanned = scan(text + "]");
    ASSERT_TRUE(scanned) << text << scanned.error().text;
    EXPECT_EQ(scanned->values, values) << text;
    EXPECT_EQ(scanned->span.end, text.size());
  }
}

}  // namespace
}  // namespace vfsmend::test
