// SPDX-License-Identifier: Apache-2.0
// Numbers as QEMU's files have them.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace vfsmend {

[[nodiscard]] inline std::uint32_t be32(const std::uint8_t* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

[[nodiscard]] inline std::uint64_t be64(const std::uint8_t* p) {
  return std::uint64_t{be32(p)} << 32 | be32(p + 4);
}

inline void put_be32(ByteVector& out, std::uint32_t n) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::uint8_t>(n >> shift));
}

[[nodiscard]] inline std::uint32_t le32(const std::uint8_t* p) {
  return std::uint32_t{p[3]} << 24 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[1]} << 8 | p[0];
}

}  // namespace vfsmend
