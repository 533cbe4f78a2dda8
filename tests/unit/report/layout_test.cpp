// SPDX-License-Identifier: Apache-2.0
#include "report/layout.h"

#include <gtest/gtest.h>

namespace vfsmend {
namespace {

TEST(Layout, CountsColumnsAsATerminalDoes) {
  EXPECT_EQ(columns_of(""), 0U);
  EXPECT_EQ(columns_of("abc"), 3U);
  EXPECT_EQ(columns_of("caf\xc3\xa9"), 4U);              // U+00E9
  EXPECT_EQ(columns_of("e\xcc\x81"), 1U);                // e and a combining accent
  EXPECT_EQ(columns_of("\xe6\x97\xa5\xe6\x9c\xac"), 4U);  // two ideographs
  EXPECT_EQ(columns_of("\xf0\x9f\x98\x80"), 2U);          // an emoji
}

TEST(Layout, BreaksAtSpacesAndIndentsWhatFollows) {
  EXPECT_EQ(wrap("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(wrap("one two three", 9, 2, 6), "one\n  two\n  three");
  EXPECT_EQ(wrap("a\n\nb", 9, 2), "a\n\n  b");
}

TEST(Layout, NeverCutsAWord) {
  EXPECT_EQ(wrap("see /a/very/long/path now", 8, 1), "see\n /a/very/long/path\n now");
}

TEST(Layout, PutsTheTextBelowALongNameOrOnANarrowScreen) {
  EXPECT_EQ(definition("--a", "text", 80, 2, 8), "  --a   text\n");
  EXPECT_EQ(definition("--abcdef", "text", 80, 2, 8), "  --abcdef\n        text\n");
  EXPECT_EQ(definition("--a", "text", 30, 2, 8), "  --a\n      text\n");
}

}  // namespace
}  // namespace vfsmend
