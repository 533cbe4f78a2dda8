// SPDX-License-Identifier: Apache-2.0
#include "snapshot/byte_array.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace vfsmend {
namespace {

// Number of values that can stand between `from` and the first `]`: what to allocate.
std::size_t count_room(Bytes file, std::uint64_t from, std::uint64_t end) {
  const std::uint8_t* begin = file.data() + from;
  const void* bracket = std::memchr(begin, ']', end - from);
  const std::uint8_t* stop =
      bracket ? static_cast<const std::uint8_t*>(bracket) : file.data() + end;
  return static_cast<std::size_t>(std::count(begin, stop, std::uint8_t{','})) + 1;
}

// Reads one array. What the tight loop does not know (blanks, escapes, damage) goes through an
// EscapedCursor, one character at a time.
class ByteArrayScanner {
 public:
  ByteArrayScanner(Bytes file, std::uint64_t from, std::uint64_t end)
      : file_(file), at_(from), end_(end) {}

  Result<ByteArray> run() {
    ByteArray out;
    out.span.begin = at_;
    // Commas may be written as escapes (\u002c), which no writer does: then it is grown below.
    out.values.resize(count_room(file_, at_, end_));
    VFSMEND_TRY_ASSIGN(const char first, after_blanks());
    if (first != ']') VFSMEND_TRY(values(out.values));
    out.values.resize(count_);
    out.span.end = at_;
    return out;
  }

 private:
  // Ends with at_ on the closing bracket.
  Result<void> values(ByteVector& out) {
    for (;;) {
      tight_loop(out);
      VFSMEND_TRY_ASSIGN(const std::uint8_t value, one_value());
      if (count_ == out.size()) out.resize(out.size() * 2);
      out[count_++] = value;
      VFSMEND_TRY_ASSIGN(const char c, after_blanks());
      if (c == ']') return {};
      if (c != ',') return expected("',' or ']'");
      step();
    }
  }

  // As long as values of one to three digits follow each other with nothing but a comma and
  // blanks between. Stops in front of the first that is otherwise. No bound is tested inside a value: file_[end_]
  // is a quote, which is no digit.
  void tight_loop(ByteVector& out) {
    const std::uint8_t* p = file_.data() + at_;
    std::uint8_t* to = out.data() + count_;
    const std::uint8_t* last = out.data() + out.size();
    while (to != last) {
      unsigned value = static_cast<unsigned>(p[0] - '0');
      if (value > 9) {
        if (*p++ == ' ') continue;
        --p;
        break;
      }
      if (p[1] == ',') {
        p += 2;
      } else {
        const unsigned second = static_cast<unsigned>(p[1] - '0');
        if (second > 9 || value == 0) break;
        value = value * 10 + second;
        if (p[2] == ',') {
          p += 3;
        } else {
          const unsigned third = static_cast<unsigned>(p[2] - '0');
          if (third > 9 || p[3] != ',') break;
          value = value * 10 + third;
          if (value > 255) break;
          p += 4;
        }
      }
      *to++ = static_cast<std::uint8_t>(value);
    }
    at_ = static_cast<std::uint64_t>(p - file_.data());
    count_ = static_cast<std::size_t>(to - out.data());
  }

  Result<std::uint8_t> one_value() {
    VFSMEND_TRY_ASSIGN(char c, after_blanks());
    const std::uint64_t start = at_;
    unsigned value = 0;
    int digits = 0;
    for (; c >= '0' && c <= '9' && digits < 4; c = here()) {
      if (digits > 0 && value == 0) break;  // JSON has no leading zeros
      value = value * 10 + static_cast<unsigned>(c - '0');
      ++digits;
      step();
    }
    const bool number_goes_on = (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E';
    if (digits > 0 && value <= 255 && !number_goes_on) return static_cast<std::uint8_t>(value);
    at_ = start;
    return expected("a number from 0 to 255");
  }

  // The character here, 0 at the end of the text.
  [[nodiscard]] char here() const { return EscapedCursor(file_, {at_, end_}).peek(); }

  void step() {
    EscapedCursor cursor(file_, {at_, end_});
    cursor.next();
    at_ = cursor.tell();
  }

  Result<char> after_blanks() {
    for (;;) {
      const char c = here();
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return c;
      step();
    }
  }

  [[nodiscard]] tl::unexpected<Error> expected(const char* what) const {
    return fail(ErrorCode::kFormat,
                fmt::format("byte {}: {}expected {} (element {})", at_,
                            at_ >= end_ ? "the JSON text in the string ends here; " : "", what,
                            count_));
  }

  Bytes file_;
  std::uint64_t at_;
  std::uint64_t end_;
  std::size_t count_ = 0;  // values read
};

}  // namespace

Result<ByteArray> scan_byte_array(Bytes file, std::uint64_t from, std::uint64_t end) {
  VFSMEND_CHECK(from <= end && end < file.size());
  return ByteArrayScanner(file, from, end).run();
}

}  // namespace vfsmend
