// SPDX-License-Identifier: Apache-2.0
// A cursor as RapidJSON's input stream, with one addition: a string that is long stands there as
// an empty one, so that it is neither looked at nor copied. Where it lies is remembered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "snapshot/json_cursor.h"
#include "snapshot/json_walk.h"

namespace vfsmend {

template <typename Cursor>
class JsonStream {
 public:
  using Ch = char;

  explicit JsonStream(Cursor cursor) : cursor_(std::move(cursor)) {}

  [[nodiscard]] Ch Peek() const { return cursor_.peek(); }
  Ch Take() {
    const char c = cursor_.peek();
    const bool outside_strings = cursor_.tell() >= outside_from_;
    cursor_.next();
    if (c == '"' && outside_strings) open_string();
    return c;
  }
  [[nodiscard]] std::size_t Tell() const { return cursor_.tell(); }

  // Of the string that was read last: its bytes without the quotes, and whether it was left out.
  [[nodiscard]] RawSpan last_string() const { return last_string_; }
  [[nodiscard]] bool last_string_is_long() const {
    return last_string_.size() > kLongestCopiedString;
  }

  [[nodiscard]] const Cursor& cursor() const { return cursor_; }
  // Goes on so that the next Take() arrives at `at`.
  void arrive_at_next(std::uint64_t at) { cursor_.move_to(at - 1); }

  // RapidJSON wants them of every stream and calls them for parsing in place only.
  Ch* PutBegin() { return nullptr; }
  void Put(Ch) {}
  void Flush() {}
  std::size_t PutEnd(Ch*) { return 0; }

 private:
  void open_string() {
    last_string_ = {cursor_.tell(), cursor_.string_end()};
    outside_from_ = last_string_.end + 1;
    if (last_string_is_long()) cursor_.move_to(last_string_.end);
  }

  Cursor cursor_;
  RawSpan last_string_;
  std::uint64_t outside_from_ = 0;  // the first place that is in no string
};

}  // namespace vfsmend
