// SPDX-License-Identifier: Apache-2.0
// XXH3-128 of contents: what a manifest says of them, and what a check compares.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/result.h"
#include "sys/calls.h"

namespace vfsmend {

using ContentHash = std::array<std::uint64_t, 2>;  // low half first

[[nodiscard]] ContentHash content_hash(Bytes bytes);

// Of the first `size` bytes of an open file; kFormat where it has fewer, kSystem where it cannot be read.
[[nodiscard]] Result<ContentHash> hash_content(sys::Calls& calls, int fd, std::uint64_t size);

// The same of bytes that come piece by piece.
class ContentHasher {
 public:
  ContentHasher();
  ~ContentHasher();
  ContentHasher(const ContentHasher&) = delete;
  ContentHasher& operator=(const ContentHasher&) = delete;
  void add(Bytes piece);
  [[nodiscard]] ContentHash hash() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vfsmend
