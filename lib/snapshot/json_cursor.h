// SPDX-License-Identifier: Apache-2.0
// How the JSON parser moves over a file's bytes. Offsets are always those of the file, also inside
// a JSON text that stands in a string of another one, so that errors and splices name real places.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "snapshot/json_text.h"

namespace vfsmend {

// A JSON text as it lies there.
class PlainCursor {
 public:
  PlainCursor(JsonText& text, RawSpan span) : text_(&text), at_(span.begin), end_(span.end) {}

  // The character here; 0 at the end.
  [[nodiscard]] char peek() const { return at_ < end_ ? static_cast<char>((*text_)[at_]) : '\0'; }
  void next() { at_ += at_ < end_ ? 1 : 0; }
  [[nodiscard]] std::uint64_t tell() const { return at_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  void move_to(std::uint64_t at) { at_ = at; }
  // The quote that closes the string whose first character is here, or end().
  [[nodiscard]] std::uint64_t string_end() const;
  [[nodiscard]] bool bad() const { return false; }

 private:
  JsonText* text_;
  std::uint64_t at_;
  std::uint64_t end_;
};

// A JSON text inside a JSON string: escapes are decoded on the way.
class EscapedCursor {
 public:
  EscapedCursor(JsonText& text, RawSpan span) : text_(&text), at_(span.begin), end_(span.end) {
    load();
  }

  [[nodiscard]] char peek() const { return current_; }
  void next();
  // Of the character here: the backslash where it is an escape.
  [[nodiscard]] std::uint64_t tell() const { return at_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  void move_to(std::uint64_t at);
  [[nodiscard]] std::uint64_t string_end() const;
  // An escape that is none, or a bare control character: it reads as the end of the text.
  [[nodiscard]] bool bad() const { return bad_; }

 private:
  [[nodiscard]] char byte(std::uint64_t at) const { return static_cast<char>((*text_)[at]); }
  void load();
  void load_escape();
  [[nodiscard]] bool hex4(std::uint64_t at, unsigned& out) const;
  void set_code_point(unsigned code, std::uint64_t width);

  JsonText* text_;
  std::uint64_t at_;
  std::uint64_t end_;
  std::uint64_t width_ = 0;     // bytes of the file that make the current character
  std::array<char, 4> utf8_{};  // an escape of several bytes: those still to come
  unsigned utf8_at_ = 0;
  unsigned utf8_size_ = 0;
  char current_ = '\0';
  bool bad_ = false;
};

}  // namespace vfsmend
