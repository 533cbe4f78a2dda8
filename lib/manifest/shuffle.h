// SPDX-License-Identifier: Apache-2.0
// Values into their planes and out of them: all first (lowest) bytes, then all second bytes, .. . A run of them
// at a time, which stays in the first cache: memory is touched once, where the values end up.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/bytes.h"

namespace vfsmend::columns {

inline constexpr std::size_t kRun = 2048;  // values

// `plane` is where the run's first bytes go; its second ones go `stride` further; `planes` of them.
template <typename U>
void shuffle(std::span<const U> run, std::uint8_t* plane, std::size_t stride,
             std::size_t planes = sizeof(U)) {
  for (std::size_t byte = 0; byte < planes; ++byte, plane += stride) {
    const std::size_t shift = 8 * byte;
    for (std::size_t i = 0; i < run.size(); ++i) plane[i] = static_cast<std::uint8_t>(run[i] >> shift);
  }
}

// `plane` is where the run's first bytes are; its second ones are `stride` further; `planes` of
// them, at most sizeof(U). False: all are zero, and `run` is not written.
template <typename U>
bool unshuffle(const std::uint8_t* plane, std::size_t stride, std::size_t planes,
               std::span<U> run) {
  static constexpr std::array<std::uint8_t, kRun> kZeros{};
  bool written = false;
  for (std::size_t byte = 0; byte < planes; ++byte, plane += stride) {
    if (std::memcmp(plane, kZeros.data(), run.size()) == 0) continue;  // most high bytes
    const std::size_t shift = 8 * byte;
    if (written) {
      for (std::size_t i = 0; i < run.size(); ++i) {
        run[i] = static_cast<U>(run[i] | static_cast<U>(static_cast<U>(plane[i]) << shift));
      }
    } else {
      for (std::size_t i = 0; i < run.size(); ++i) {
        run[i] = static_cast<U>(static_cast<U>(plane[i]) << shift);
      }
    }
    written = true;
  }
  return written;
}

// Calls visit(first, values) with the `raw.size() / sizeof(U)` values, a run at a time.
template <typename U, typename Visit>
void for_each_run(Bytes raw, Visit visit) {
  const std::size_t count = raw.size() / sizeof(U);
  std::array<U, kRun> room;
  for (std::size_t first = 0; first < count; first += kRun) {
    const std::span<U> run(room.data(), std::min(kRun, count - first));
    if (!unshuffle(raw.data() + first, count, sizeof(U), run)) {
      std::fill(run.begin(), run.end(), U{});
    }
    visit(first, run);
  }
}

}  // namespace vfsmend::columns
