// SPDX-License-Identifier: Apache-2.0
#include "snapshot/json_cursor.h"

#include <cstring>

namespace vfsmend {
namespace {

// What a one-letter escape stands for; 0 where it is none.
char simple_escape(char letter) {
  switch (letter) {
    case '"': case '\\': case '/': return letter;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return '\0';
  }
}

}  // namespace

std::uint64_t PlainCursor::string_end() const {
  std::uint64_t from = at_;
  while (from < end_) {
    const void* found = std::memchr(file_.data() + from, '"', end_ - from);
    if (!found) return end_;
    const auto quote =
        static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(found) - file_.data());
    std::uint64_t slashes = 0;  // an even run of them escapes itself
    while (quote - slashes > from && file_[quote - slashes - 1] == '\\') ++slashes;
    if (slashes % 2 == 0) return quote;
    from = quote + 1;
  }
  return end_;
}

void EscapedCursor::next() {
  if (utf8_at_ < utf8_size_) {
    current_ = utf8_[utf8_at_++];
    return;
  }
  at_ += width_;
  load();
}

void EscapedCursor::move_to(std::uint64_t at) {
  at_ = at;
  utf8_at_ = utf8_size_ = 0;
  load();
}

std::uint64_t EscapedCursor::string_end() const {
  EscapedCursor ahead = *this;
  while (ahead.at_ < ahead.end_ && !ahead.bad_) {
    if (ahead.current_ == '"') return ahead.at_;
    if (ahead.current_ == '\\') ahead.next();
    ahead.next();
  }
  return end_;
}

void EscapedCursor::load() {
  current_ = '\0';
  width_ = 0;
  if (at_ >= end_) return;
  const char c = static_cast<char>(file_[at_]);
  if (c == '\\') return load_escape();
  bad_ = static_cast<unsigned char>(c) < 0x20;
  if (bad_) return;
  current_ = c;
  width_ = 1;
}

void EscapedCursor::load_escape() {
  bad_ = true;
  if (end_ - at_ < 2) return;
  const char letter = static_cast<char>(file_[at_ + 1]);
  if (const char c = simple_escape(letter); c != '\0') return set_code_point(c, 2);
  unsigned code = 0;
  if (letter != 'u' || !hex4(at_ + 2, code)) return;
  if (code < 0xd800 || code > 0xdfff) return set_code_point(code, 6);
  unsigned low = 0;  // a surrogate pair, or an error
  if (code > 0xdbff || end_ - at_ < 12 || file_[at_ + 6] != '\\' || file_[at_ + 7] != 'u') return;
  if (!hex4(at_ + 8, low) || low < 0xdc00 || low > 0xdfff) return;
  set_code_point(((code - 0xd800) << 10 | (low - 0xdc00)) + 0x10000, 12);
}

bool EscapedCursor::hex4(std::uint64_t at, unsigned& out) const {
  if (end_ < at || end_ - at < 4) return false;
  out = 0;
  for (std::uint64_t i = at; i < at + 4; ++i) {
    const unsigned c = file_[i];
    const unsigned letter = c | 0x20U;
    if (c >= '0' && c <= '9') {
      out = out << 4 | (c - '0');
    } else if (letter >= 'a' && letter <= 'f') {
      out = out << 4 | (letter - 'a' + 10);
    } else {
      return false;
    }
  }
  return true;
}

void EscapedCursor::set_code_point(unsigned code, std::uint64_t width) {
  const auto tail = [](unsigned bits) { return static_cast<char>(0x80U | (bits & 0x3fU)); };
  bad_ = false;
  width_ = width;
  utf8_at_ = utf8_size_ = 0;
  if (code < 0x80) {
    current_ = static_cast<char>(code);
    return;
  }
  unsigned n = 0;
  if (code >= 0x10000) {
    current_ = static_cast<char>(0xf0U | code >> 18);
    utf8_[n++] = tail(code >> 12);
  } else if (code >= 0x800) {
    current_ = static_cast<char>(0xe0U | code >> 12);
  } else {
    current_ = static_cast<char>(0xc0U | code >> 6);
  }
  if (code >= 0x800) utf8_[n++] = tail(code >> 6);
  utf8_[n++] = tail(code);
  utf8_size_ = n;
}

}  // namespace vfsmend
