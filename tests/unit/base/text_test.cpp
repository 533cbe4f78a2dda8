// SPDX-License-Identifier: Apache-2.0
// UTF-8 as the Unicode Standard (3.9, tables 3-7 and 3-8) has it, wherever in a text it stands.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/text.h"

namespace vfsmend {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

constexpr auto kWellFormed = {
    "\x00"sv, "\x7f"sv, "\xc2\x80"sv, "\xdf\xbf"sv, "\xe0\xa0\x80"sv, "\xed\x9f\xbf"sv, "\xee\x80\x80"sv,
    "\xef\xbf\xbf"sv, "\xf0\x90\x80\x80"sv, "\xf4\x8f\xbf\xbf"sv};

struct IllFormed {
  std::string_view bytes;
  int parts;  // maximal ill-formed ones, each of which becomes one U+FFFD
};
constexpr auto kIllFormed = {
    IllFormed{"\x80"sv, 1},                      // a continuation without a lead
    {"\xc0\xaf"sv, 2},                           // overlong
    {"\xc1\xbf"sv, 2},
    {"\xe0\x9f\xbf"sv, 3},
    {"\xf0\x8f\xbf\xbf"sv, 4},
    {"\xed\xa0\x80"sv, 3},                       // surrogates
    {"\xed\xbf\xbf"sv, 3},
    {"\xf4\x90\x80\x80"sv, 4},                   // beyond U+10FFFF
    {"\xf5"sv, 1},
    {"\xff"sv, 1},
    {"\xc3"sv, 1},                               // cut
    {"\xe2\x82"sv, 1},
    {"\xf0\x9f\x98"sv, 1},
};

// Of each length, and with the bytes in question at each place of it.
template <typename Look>
void embed(std::string_view bytes, Look look) {
  for (std::size_t before = 0; before < 18; ++before) {
    for (const std::size_t behind : {0U, 1U, 7U, 8U, 9U}) {
      look(std::string(before, 'a'), std::string(behind, 'z'), std::string(before, 'a').append(bytes) +
                                                                   std::string(behind, 'z'));
    }
  }
}

TEST(Utf8, WellFormedAnywhere) {
  for (const std::string_view bytes : kWellFormed) {
    embed(bytes, [](const auto&, const auto&, const std::string& text) {
      EXPECT_TRUE(is_utf8(text)) << spaced_hex(as_bytes(text));
      EXPECT_EQ(utf8_lossy(text), text);
    });
  }
  EXPECT_TRUE(is_utf8(""));
}

TEST(Utf8, IllFormedAnywhere) {
  for (const auto& [bytes, parts] : kIllFormed) {
    std::string replaced;
    for (int i = 0; i < parts; ++i) replaced += kReplacement;
    embed(bytes, [&](const std::string& before, const std::string& behind, const std::string& text) {
      EXPECT_FALSE(is_utf8(text)) << spaced_hex(as_bytes(text));
      EXPECT_EQ(utf8_lossy(text), before + replaced + behind) << spaced_hex(as_bytes(text));
    });
  }
}

// What Rust prints for "{:?}" of these (rustc 1.70).
TEST(RustDebug, Escapes) {
  EXPECT_EQ(rust_debug("a\"b\\c\n\r\t\0"sv), R"("a\"b\\c\n\r\t\0")");
  EXPECT_EQ(rust_debug("\x7f\x1b"), R"("\u{7f}\u{1b}")");
  EXPECT_EQ(rust_debug("caf\xc3\xa9"), "\"caf\xc3\xa9\"");
}

TEST(Printable, NothingThatATerminalObeys) {
  EXPECT_EQ(printable("a\x1b[2J\n\xff"), R"(a\x1b[2J\n\xff)");
  EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
}

TEST(Base64, BothWaysForEveryRest) {
  for (const std::string_view text : {""sv, "f"sv, "fo"sv, "foo"sv, "foob"sv, "\0\xff\x80"sv}) {
    EXPECT_EQ(from_base64(base64(text)), text);
  }
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  for (const char* wrong : {"Zm9vYg", "Zm9vYg=", "Zm9v!g==", "====", "Zm=v"}) {
    EXPECT_EQ(from_base64(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace vfsmend
