// SPDX-License-Identifier: Apache-2.0
// Random choices that are the same on every machine: the standard's distributions are not.
#pragma once

#include <cstdint>
#include <random>

namespace vfsmend::differential {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  // 0 .. sides - 1
  std::uint64_t roll(std::uint64_t sides) { return sides == 0 ? 0 : engine_() % sides; }
  bool percent(unsigned chance) { return roll(100) < chance; }
  template <typename Container>
  const auto& one_of(const Container& of) {
    return of[roll(of.size())];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace vfsmend::differential
