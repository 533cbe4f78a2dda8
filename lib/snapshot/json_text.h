// SPDX-License-Identifier: Apache-2.0
// The bytes of a JSON file, through a window: a state.json can have gigabytes, and what we keep of
// it is a device's state. It is read from front to back, once for the tree and once for each
// device's text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "snapshot/byte_source.h"

namespace vfsmend {

// Bytes begin .. end - 1 of a file.
struct RawSpan {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::uint64_t size() const { return end - begin; }
};

class JsonText {
 public:
  // Keeps a reference to `source`.
  explicit JsonText(ByteSource& source) : source_(source) {}

  [[nodiscard]] std::uint64_t size() const { return source_.size(); }

  // The byte at `at`, which is less than size(). 0 where it cannot be read: see error().
  [[nodiscard]] std::uint8_t operator[](std::uint64_t at) {
    if (at - begin_ >= window_.size()) load(at);
    return at - begin_ < window_.size() ? window_[at - begin_] : 0;
  }

  // Bytes from `at` on, as many as the window has, at most up to `end`. Empty where they cannot
  // be read. Valid until another place is asked for.
  [[nodiscard]] Bytes piece(std::uint64_t at, std::uint64_t end) {
    if (at >= end) return {};
    if (at - begin_ >= window_.size()) load(at);
    if (at - begin_ >= window_.size()) return {};
    const Bytes rest = Bytes(window_).subspan(at - begin_);
    return rest.first(std::min<std::uint64_t>(rest.size(), end - at));
  }

  // Why a byte could not be read; the first reason stays.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  void load(std::uint64_t at);

  ByteSource& source_;
  std::uint64_t begin_ = 0;  // of the window
  ByteVector window_;
  std::optional<Error> error_;
};

}  // namespace vfsmend
