// SPDX-License-Identifier: Apache-2.0
// A set of small integers that can say which of its members comes next after a position.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace vfsmend {

// Three levels of 64-way bitmaps below a word list: each operation touches at most four words up
// to 16 million members, and is linear in size / 262,144 beyond.
class IndexSet {
 public:
  explicit IndexSet(std::size_t size) {
    for (auto& level : levels_) {
      size = size / 64 + 1;
      level.assign(size, 0);
    }
  }

  void insert(std::size_t i) {
    for (auto& level : levels_) {
      level[i / 64] |= std::uint64_t{1} << (i % 64);
      i /= 64;
    }
  }

  void erase(std::size_t i) {
    for (auto& level : levels_) {
      level[i / 64] &= ~(std::uint64_t{1} << (i % 64));
      if (level[i / 64] != 0) return;
      i /= 64;
    }
  }

  [[nodiscard]] bool contains(std::size_t i) const {
    return (levels_[0][i / 64] >> (i % 64) & 1) != 0;
  }

  // The smallest member that is at least `from`, or kEnd.
  static constexpr std::size_t kEnd = ~std::size_t{0};
  [[nodiscard]] std::size_t next(std::size_t from) const { return next_in(0, from); }

 private:
  static constexpr std::size_t kLevels = 4;

  [[nodiscard]] std::size_t next_in(std::size_t depth, std::size_t from) const {
    const auto& level = levels_[depth];
    if (from / 64 >= level.size()) return kEnd;
    const std::uint64_t here = level[from / 64] >> (from % 64);
    if (here != 0) return from + static_cast<std::size_t>(std::countr_zero(here));
    std::size_t word = from / 64 + 1;
    if (depth + 1 < kLevels) {
      word = next_in(depth + 1, word);
      if (word == kEnd) return kEnd;
    } else {
      while (word < level.size() && level[word] == 0) ++word;
      if (word == level.size()) return kEnd;
    }
    return word * 64 + static_cast<std::size_t>(std::countr_zero(level[word]));
  }

  std::array<std::vector<std::uint64_t>, kLevels> levels_;
};

}  // namespace vfsmend
