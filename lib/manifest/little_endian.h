// SPDX-License-Identifier: Apache-2.0
// Numbers of the manifest's header and table.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace vfsmend {

template <std::unsigned_integral U>
[[nodiscard]] U le_at(Bytes bytes, std::size_t at) {
  U value = 0;
  for (std::size_t i = 0; i < sizeof(U); ++i) {
    value |= static_cast<U>(static_cast<U>(bytes[at + i]) << (8 * i));
  }
  return value;
}

template <std::unsigned_integral U>
void append_le(ByteVector& out, U value) {
  for (std::size_t i = 0; i < sizeof(U); ++i) {
    out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

}  // namespace vfsmend
