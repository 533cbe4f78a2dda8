// SPDX-License-Identifier: Apache-2.0
// The array of numbers that is a device's state: up to a hundred million digits, read straight
// from the file's bytes in one loop.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "snapshot/json_text.h"

namespace vfsmend {

struct ByteArray {
  ByteVector values;
  RawSpan span;  // of the file, just inside the brackets
};

// Reads `0, 17, 255]`, the elements of an array inside an escaped JSON text, which are the bytes
// from inside.begin on; the text ends before inside.end. kFormat with the byte and the index of
// what is no byte.
[[nodiscard]] Result<ByteArray> scan_byte_array(JsonText& text, RawSpan inside);

}  // namespace vfsmend
