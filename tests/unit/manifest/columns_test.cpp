// SPDX-License-Identifier: Apache-2.0
#include "manifest/columns.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <utility>

namespace vfsmend::columns {
namespace {

template <typename U>
void check_round_trip(const std::vector<U>& values, Coding coding) {
  ColumnBytes raw{0xaa};  // what is there stays
  put_integers(raw, Column<U>(values), coding);
  RC_ASSERT(raw.size() == 1 + values.size() * sizeof(U));
  RC_ASSERT(raw[0] == 0xaa);
  RC_ASSERT(get_integers<U>(Bytes(raw).subspan(1), coding) == Column<U>(values));
}

RC_GTEST_PROP(Columns, IntegersComeBack, ()) {
  for (const Coding coding : {Coding::kPlain, Coding::kDelta}) {
    check_round_trip(*rc::gen::arbitrary<std::vector<std::uint8_t>>(), coding);
    check_round_trip(*rc::gen::arbitrary<std::vector<std::uint32_t>>(), coding);
    check_round_trip(*rc::gen::arbitrary<std::vector<std::uint64_t>>(), coding);
  }
}

TEST(Columns, DifferencesWrap) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  const Column values(std::vector<std::uint64_t>{kMax, 0, kMax, 1, kMax / 2 + 1, 0});
  ColumnBytes raw;
  put_integers(raw, values, Coding::kDelta);
  EXPECT_EQ((ColumnBytes{raw[0], raw[1], raw[2], raw[3]}), (ColumnBytes{1, 2, 1, 4}));  // zigzag
  EXPECT_TRUE(get_integers<std::uint64_t>(raw, Coding::kDelta) == values);
}

// Longer than what is decoded at a time, with high bytes in one part of it only.
TEST(Columns, LongOnesComeBack) {
  std::vector<std::uint64_t> values(10'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i < 5000 ? i : i << 40;
  for (const Coding coding : {Coding::kPlain, Coding::kDelta}) {
    ColumnBytes raw;
    put_integers(raw, Column<std::uint64_t>(values), coding);
    EXPECT_TRUE(get_integers<std::uint64_t>(raw, coding) == Column<std::uint64_t>(values));
  }
}

TEST(Columns, ShuffledIsAllFirstBytesFirst) {
  ColumnBytes raw;
  put_integers(raw, Column(std::vector<std::uint32_t>{0x04030201, 0x14131211}), Coding::kPlain);
  EXPECT_EQ(raw, (ColumnBytes{1, 0x11, 2, 0x12, 3, 0x13, 4, 0x14}));
}

TEST(Columns, WhatIsTheSameInAllIsHeldOnce) {
  constexpr std::size_t kCount = 5000;
  for (const Coding coding : {Coding::kPlain, Coding::kDelta}) {
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-7}, kNoTime}) {
      const Column<std::int64_t> same(kCount, value);
      ColumnBytes raw;
      put_integers(raw, same, coding);
      EXPECT_EQ(raw.size(), kCount * 8);
      auto again = get_integers<std::int64_t>(raw, coding);
      EXPECT_TRUE(again == same);
      EXPECT_EQ(again.held().size(), 1U);
      again[kCount - 1] ^= 1;  // and no longer, once one is changed
      EXPECT_EQ(std::as_const(again)[0], value);
      EXPECT_EQ(again.held().size(), kCount);
      raw.clear();
      put_integers(raw, again, coding);
      EXPECT_TRUE(get_integers<std::int64_t>(raw, coding) == again);
    }
  }
}

TEST(Columns, ACountThatGrowsAfterBeingHeldOnce) {
  Column<std::uint32_t> column(3, 8);
  column.push_back(9);
  EXPECT_TRUE(column == Column(std::vector<std::uint32_t>{8, 8, 8, 9}));
  Column<std::uint32_t> none(0, 8);
  none.push_back(9);
  EXPECT_TRUE(none == Column(std::vector<std::uint32_t>{9}));
}

TEST(Columns, TextsOfOneLengthAreThoseWithEnds) {
  const auto bytes = [](std::string_view text) { return TextBytes(text.begin(), text.end()); };
  using Ends = std::vector<std::uint64_t>;
  TextColumn texts;
  for (const char* text : {"ab", "cd", "", "efg"}) texts.add(text);
  EXPECT_EQ(texts, TextColumn(bytes("abcdefg"), Ends{2, 4, 4, 7}));
  EXPECT_EQ(texts[2], "");
  EXPECT_EQ(texts[3], "efg");
  EXPECT_EQ(TextColumn(bytes("abcd"), 2), TextColumn(bytes("abcd"), Ends{2, 4}));
  EXPECT_NE(TextColumn(bytes("abcd"), 2), TextColumn(bytes("abcd"), Ends{1, 4}));
  EXPECT_EQ(TextColumn(bytes(""), 9)[8], "");
}

RC_GTEST_PROP(Columns, TextsAndNamesComeBack, ()) {
  TextColumn texts;
  const auto strings = *rc::gen::arbitrary<std::vector<std::string>>();
  for (const std::string& s : strings) texts.add(s);
  for (const std::string& s : strings) texts.add(s + "!");  // a beginning in common, at times
  ColumnBytes raw;
  put_texts(raw, texts);
  RC_ASSERT(get_texts(raw, texts.size()).value() == texts);
  raw.clear();
  put_names(raw, texts);
  RC_ASSERT(get_names(raw, texts.size(), texts.bytes().size()).value() == texts);
}

TEST(Columns, WhatANameSharesIsNotRepeated) {
  TextColumn names;
  names.add(std::string(300, 'a') + "1");
  names.add(std::string(300, 'a') + "2");  // 255 at most are shared
  names.add("");
  ColumnBytes raw;
  put_names(raw, names);
  EXPECT_EQ(raw.size(), 3 * 5 + 301 + (301 - 255));
  EXPECT_EQ(get_names(raw, 3, 1000).value(), names);
  EXPECT_EQ(get_names(raw, 3, 601).error().code, ErrorCode::kLimit);
  raw[0] = 1;
  EXPECT_EQ(get_names(raw, 3, 1000).error().text, "[0] shares more than there is");
}

// They are compared eight bytes at a time, where the column goes on behind them.
TEST(Columns, WhatANameSharesIsFoundToTheByte) {
  for (std::size_t size = 0; size <= 20; ++size) {
    for (std::size_t differs = 0; differs <= size; ++differs) {
      for (const char* next : {"", "what follows it in the column"}) {
        std::string name(size, 'n');
        TextColumn names;
        names.add(name + "nn");
        if (differs < size) name[differs] = 'm';
        names.add(name);
        names.add(next);
        ColumnBytes raw;
        put_names(raw, names);
        EXPECT_EQ(raw[1], differs) << size;
        EXPECT_EQ(get_names(raw, 3, 1000).value(), names);
      }
    }
  }
}

TEST(Columns, OneValueStandsForAllUntilAnotherComes) {
  Column<std::uint32_t> column;
  column.reserve(3);
  column.push_back(7);
  column.push_back(7);
  EXPECT_EQ(column.held().size(), 1U);
  column.push_back(8);
  column.push_back(7);
  EXPECT_EQ(column, Column<std::uint32_t>(std::vector<std::uint32_t>{7, 7, 8, 7}));
  Column<std::uint32_t> none(0, 5);
  none.push_back(9);
  EXPECT_EQ(none, Column<std::uint32_t>(1, 9));
}

RC_GTEST_PROP(Columns, HandlesComeBack, ()) {
  TextColumn handles;
  const Column<std::uint64_t> ino(*rc::gen::arbitrary<std::vector<std::uint64_t>>());
  for (std::size_t i = 0; i < ino.size(); ++i) {
    const auto size = *rc::gen::inRange<std::size_t>(0, kMaxHandleBytes + 1);
    std::string handle(size, static_cast<char>(i));
    if (size >= 12 && *rc::gen::inRange(0, 8) > 0) {
      for (std::size_t k = 0; k < 8; ++k) handle[4 + k] = static_cast<char>(ino[i] >> (8 * k));
    }
    handles.add(handle);
  }
  ColumnBytes raw;
  put_handles(raw, handles, ino);
  RC_ASSERT(get_handles(raw, ino).value() == handles);
}

// Of one length, so that eight bytes at a time are put together; the number anywhere in them.
RC_GTEST_PROP(Columns, HandlesOfOneLengthComeBack, ()) {
  TextColumn handles;
  const Column<std::uint64_t> ino(*rc::gen::arbitrary<std::vector<std::uint64_t>>());
  const auto size = *rc::gen::inRange<std::size_t>(4, kMaxHandleBytes + 1);
  const auto at = *rc::gen::inRange<std::size_t>(0, size - 3);
  for (std::size_t i = 0; i < ino.size(); ++i) {
    std::string handle(size, static_cast<char>(i));
    for (std::size_t k = 0; k < 4; ++k) handle[at + k] = static_cast<char>(ino[i] >> (8 * k));
    handles.add(handle);
  }
  ColumnBytes raw;
  put_handles(raw, handles, ino);
  RC_ASSERT(get_handles(raw, ino).value() == handles);
}

TEST(Columns, InodeNumbersInHandlesVanish) {
  TextColumn handles;
  const Column ino(std::vector<std::uint64_t>{0x01020304, 0x01020305});
  handles.add(std::string("\x81\x04\x03\x02\x01g", 6));
  handles.add(std::string("\x81\x05\x03\x02\x01h", 6));
  ColumnBytes raw;
  put_handles(raw, handles, ino);
  EXPECT_EQ(raw, (ColumnBytes{1, 6, 6, 0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0, 'g', 'h'}));
  EXPECT_EQ(get_handles(raw, ino).value(), handles);
}

TEST(Columns, WhatIsNotAColumnIsRefused) {
  const Column<std::uint64_t> two(2, 0);
  EXPECT_EQ(get_texts(ByteVector(7), 2).error().text, "too short for its lengths");
  EXPECT_EQ(get_texts(ByteVector(9), 2).error().text,
            "1 bytes of text, where its lengths say 0");
  EXPECT_EQ(get_names(ByteVector(9), 2, 99).error().text, "too short for its lengths");
  EXPECT_EQ(get_names(ByteVector(11), 2, 99).error().text,
            "1 bytes of text, where its lengths say 0");
  EXPECT_EQ(get_handles(ByteVector(2), two).error().text, "too short for its lengths");
  EXPECT_EQ(get_handles(ByteVector{0, 1, 1, 9}, two).error().text,
            "1 bytes of handles, where their lengths say 2");
  EXPECT_EQ(get_handles(ByteVector{0, 129, 0}, two).error().text, "a handle of 129 bytes");
}

}  // namespace
}  // namespace vfsmend::columns
