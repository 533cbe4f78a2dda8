// SPDX-License-Identifier: Apache-2.0
#include "snapshot/byte_array.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "snapshot/json_cursor.h"

namespace vfsmend {
namespace {

// Memory that is set aside at once, and used only as far as there are values.
constexpr std::uint64_t kMostReserved = std::uint64_t{256} << 20;

// Reads one array. What the tight loop does not know (escapes, damage, the last value) goes
// through an EscapedCursor, one character at a time.
class ByteArrayScanner {
 public:
  ByteArrayScanner(JsonText& text, RawSpan inside)
      : text_(text), at_(inside.begin), end_(inside.end) {}

  Result<ByteArray> run() {
    ByteArray out;
    out.span.begin = at_;
    out.values.reserve(std::min((end_ - at_) / 2, kMostReserved));
    if (after_blanks() != ']') VFSMEND_TRY(values(out.values));
    out.span.end = at_;
    return out;
  }

 private:
  // Ends with at_ on the closing bracket.
  Result<void> values(ByteVector& out) {
    for (;;) {
      while (tight_loop(out)) {
      }
      VFSMEND_TRY_ASSIGN(const std::uint8_t value, one_value(out.size()));
      out.push_back(value);
      const char c = after_blanks();
      if (c == ']') return {};
      if (c != ',') return expected("',' or ']'", out.size());
      step();
    }
  }

  // As long as values of one to three digits follow each other with nothing but a comma and
  // blanks between, and the window lasts. Stops in front of the first that is otherwise. False if
  // that is where it began.
  bool tight_loop(ByteVector& out) {
    std::array<std::uint8_t, 4096> block;
    const Bytes piece = text_.piece(at_, end_);
    if (piece.size() < kLongestValue) return false;
    const std::uint8_t* p = piece.data();
    const std::uint8_t* last = piece.data() + piece.size() - kLongestValue;
    std::uint8_t* to = block.data();
    while (p <= last && to != block.end()) {
      unsigned value = static_cast<unsigned>(p[0] - '0');
      if (value > 9) {
        if (*p != ' ') break;
        ++p;
        continue;
      }
      unsigned size = 2;
      if (p[1] != ',') {
        const unsigned second = static_cast<unsigned>(p[1] - '0');
        if (second > 9 || value == 0) break;
        value = value * 10 + second;
        size = 3;
        if (p[2] != ',') {
          const unsigned third = static_cast<unsigned>(p[2] - '0');
          value = value * 10 + third;
          if (third > 9 || p[3] != ',' || value > 255) break;
          size = 4;
        }
      }
      *to++ = static_cast<std::uint8_t>(value);
      p += size;
    }
    out.insert(out.end(), block.data(), to);
    at_ += static_cast<std::uint64_t>(p - piece.data());
    return p != piece.data();
  }

  Result<std::uint8_t> one_value(std::size_t index) {
    char c = after_blanks();
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
    return expected("a number from 0 to 255", index);
  }

  // The character here, 0 at the end of the text.
  [[nodiscard]] char here() const { return EscapedCursor(text_, {at_, end_}).peek(); }

  void step() {
    EscapedCursor cursor(text_, {at_, end_});
    cursor.next();
    at_ = cursor.tell();
  }

  char after_blanks() {
    char c = here();
    for (; c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = here()) step();
    return c;
  }

  [[nodiscard]] tl::unexpected<Error> expected(const char* what, std::size_t index) const {
    const char* end = at_ >= end_ ? "the JSON text in the string ends here; " : "";
    return fail(ErrorCode::kFormat,
                fmt::format("byte {}: {}expected {} (element {})", at_, end, what, index));
  }

  static constexpr std::size_t kLongestValue = 4;  // with its comma

  JsonText& text_;
  std::uint64_t at_;
  std::uint64_t end_;
};

}  // namespace

Result<ByteArray> scan_byte_array(JsonText& text, RawSpan inside) {
  return ByteArrayScanner(text, inside).run();
}

}  // namespace vfsmend
