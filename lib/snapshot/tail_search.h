// SPDX-License-Identifier: Apache-2.0
// Occurrences of a byte string in a large file, from its end towards its begin: what is looked
// for lies behind gigabytes of guest memory, and these are not read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/byte_source.h"

namespace vfsmend {

class TailSearch {
 public:
  // Looks for `needle` in the bytes floor .. end - 1.
  TailSearch(ByteSource& source, std::string needle, std::uint64_t floor, std::uint64_t end)
      : source_(source), needle_(std::move(needle)), floor_(floor), end_(end) {}

  // The offset of the next one towards the begin, or nothing when there are no more.
  [[nodiscard]] Result<std::optional<std::uint64_t>> next();

  // Goes on below `end` (what lies above it has been understood), down to `floor`.
  void go_on_below(std::uint64_t end, std::uint64_t floor);

 private:
  [[nodiscard]] Result<void> read_window();

  ByteSource& source_;
  std::string needle_;
  std::uint64_t floor_;
  std::uint64_t end_;  // needles that begin and end below it are still to be found
  std::uint64_t window_ = std::uint64_t{256} << 10;  // bytes of the next read
  std::vector<std::uint64_t> found_;                 // of the window that was read last, ascending
};

}  // namespace vfsmend
