// SPDX-License-Identifier: Apache-2.0
#include "sys/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace vfsmend::sys {
namespace {

struct Wide {
  std::uint64_t number = 7;
  char letter = 'x';
};

TEST(Arena, WhatIsMadeHasItsDefaultsAndItsAlignment) {
  Arena arena;
  for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{200'000}}) {
    (void)arena.keep("a");
    const auto made = arena.make<Wide>(count);
    ASSERT_EQ(made.size(), count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made.data()) % alignof(Wide), 0U);
    for (const Wide& each : made) ASSERT_TRUE(each.number == 7 && each.letter == 'x');
  }
  EXPECT_TRUE(arena.make<Wide>(0).empty());
  EXPECT_TRUE(arena.keep("").empty());
}

// Over the ends of many pieces, also of such as are larger than a piece.
TEST(Arena, NothingLiesOnAnother) {
  Arena arena;
  std::vector<std::string> put;
  std::vector<std::string_view> kept;
  for (std::size_t i = 0; i < 3'000; ++i) {
    put.emplace_back(i % 97 == 96 ? 100'000 : 1 + i * 37 % 5'000, static_cast<char>('a' + i % 26));
    kept.push_back(arena.keep(put.back()));
  }
  put.emplace_back(5'000'000, 'z');
  kept.push_back(arena.keep(put.back()));
  for (std::size_t i = 0; i < put.size(); ++i) ASSERT_EQ(kept[i], put[i]) << i;
}

TEST(Arena, SeveralThreadsTakeFromOne) {
  Arena arena;
  std::vector<std::vector<std::string_view>> kept(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kept.size(); ++t) {
    threads.emplace_back([&arena, &mine = kept[t], t] {
      for (std::size_t i = 0; i < 20'000; ++i) {
        mine.push_back(arena.keep(std::to_string(t * 1'000'000 + i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < kept.size(); ++t) {
    for (std::size_t i = 0; i < kept[t].size(); ++i) {
      ASSERT_EQ(kept[t][i], std::to_string(t * 1'000'000 + i));
    }
  }
}

}  // namespace
}  // namespace vfsmend::sys
