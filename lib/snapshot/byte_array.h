// SPDX-License-Identifier: Apache-2.0
// The array of numbers that is a device's state: up to a hundred million digits, read straight
// from the file's bytes in one loop.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "snapshot/json_cursor.h"

namespace vfsmend {

struct ByteArray {
  ByteVector values;
  RawSpan span;  // of the file, just inside the brackets
};

// Reads `0, 17, 255]`, the elements of an array inside an escaped JSON text, from file[from] on;
// `end` is where that text ends: file[end] is the quote behind it. Memory is taken for as many
// values as there are commas. kFormat with the byte and the index of what is no byte.
[[nodiscard]] Result<ByteArray> scan_byte_array(Bytes file, std::uint64_t from, std::uint64_t end);

}  // namespace vfsmend
