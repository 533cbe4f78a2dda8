// SPDX-License-Identifier: Apache-2.0
#include "snapshot/json_cursor.h"

#include <cstring>
#include <limits>

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

// Of the first `c`; the size where there is none.
std::uint64_t offset_of(char c, Bytes bytes) {
  const void* found = std::memchr(bytes.data(), c, bytes.size());
  if (!found) return bytes.size();
  return static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(found) - bytes.data());
}

}  // namespace

std::uint64_t PlainCursor::string_end() const {
  constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t at = at_;
  while (at < end_) {
    // Each of the two is looked for anew only where it has been passed: a piece without a
    // backslash is gone through twice, and not once for each quote.
    const Bytes piece = text_->piece(at, end_);
    if (piece.empty()) return end_;
    const std::uint64_t begin = at;
    const std::uint64_t piece_end = at + piece.size();
    std::uint64_t quote = kUnknown;
    std::uint64_t slash = kUnknown;
    while (at < piece_end) {
      const Bytes rest = piece.subspan(at - begin);
      if (quote == kUnknown || quote < at) quote = at + offset_of('"', rest);
      if (slash == kUnknown || slash < at) slash = at + offset_of('\\', rest);
      if (quote < slash) return quote;
      at = slash < piece_end ? slash + 2 : piece_end;
    }
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
  const char c = byte(at_);
  if (c == '\\') return load_escape();
  bad_ = static_cast<unsigned char>(c) < 0x20;
  if (bad_) return;
  current_ = c;
  width_ = 1;
}

void EscapedCursor::load_escape() {
  bad_ = true;
  if (end_ - at_ < 2) return;
  const char letter = byte(at_ + 1);
  if (const char c = simple_escape(letter); c != '\0') return set_code_point(c, 2);
  unsigned code = 0;
  if (letter != 'u' || !hex4(at_ + 2, code)) return;
  if (code < 0xd800 || code > 0xdfff) return set_code_point(code, 6);
  unsigned low = 0;  // a surrogate pair, or an error
  if (code > 0xdbff || end_ - at_ < 12 || byte(at_ + 6) != '\\' || byte(at_ + 7) != 'u') return;
  if (!hex4(at_ + 8, low) || low < 0xdc00 || low > 0xdfff) return;
  set_code_point(((code - 0xd800) << 10 | (low - 0xdc00)) + 0x10000, 12);
}

bool EscapedCursor::hex4(std::uint64_t at, unsigned& out) const {
  if (end_ < at || end_ - at < 4) return false;
  out = 0;
  for (std::uint64_t i = at; i < at + 4; ++i) {
    const unsigned c = (*text_)[i];
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
