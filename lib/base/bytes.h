// SPDX-License-Identifier: Apache-2.0
// Bytes as they lie in a snapshot: borrowed, never interpreted in place.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace vfsmend {

using Bytes = std::span<const std::uint8_t>;
using ByteVector = std::vector<std::uint8_t>;

[[nodiscard]] inline Bytes as_bytes(std::string_view s) {
  return {reinterpret_cast<const std::uint8_t*>(s.data()), s.size()};
}

[[nodiscard]] inline std::string_view as_text(Bytes b) {
  return {reinterpret_cast<const char*>(b.data()), b.size()};
}

}  // namespace vfsmend
