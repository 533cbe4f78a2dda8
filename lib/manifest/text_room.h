// SPDX-License-Identifier: Apache-2.0
// What the readers of columns of texts have in common.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "manifest/column.h"
#include "sys/heap.h"

namespace vfsmend::columns {

inline tl::unexpected<Error> wrong(std::string text) {
  return fail(ErrorCode::kFormat, std::move(text));
}

// With room for so many, of which none is there yet.
inline std::vector<std::uint64_t> room_for_ends(std::size_t count) {
  std::vector<std::uint64_t> ends;
  ends.reserve(count);
  sys::fetch_pages(ends.data(), count * sizeof(ends[0]));
  return ends;
}

// As long as that, and not yet written.
inline TextBytes room_for_text(std::uint64_t size) {
  TextBytes bytes(size);
  sys::fetch_pages(bytes.data(), size);
  return bytes;
}

}  // namespace vfsmend::columns
