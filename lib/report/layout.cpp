// SPDX-License-Identifier: Apache-2.0
#include "report/layout.h"

#include <algorithm>
#include <array>
#include <utility>

namespace vfsmend {
namespace {

using Range = std::pair<char32_t, char32_t>;

// The large blocks of Unicode 15's EastAsianWidth.txt (W and F); what stands between them and is
// narrow is not used in file names.
constexpr std::array kWide = {Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},
                              Range{0x3041, 0xa4cf},   Range{0xac00, 0xd7a3},
                              Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6f},
                              Range{0xff00, 0xff60},   Range{0xffe0, 0xffe6},
                              Range{0x1f300, 0x1f64f}, Range{0x1f900, 0x1f9ff},
                              Range{0x20000, 0x3fffd}};
constexpr std::array kNoWidth = {Range{0x0300, 0x036f}, Range{0x1ab0, 0x1aff},
                                 Range{0x1dc0, 0x1dff}, Range{0x200b, 0x200f},
                                 Range{0x20d0, 0x20ff}, Range{0xfe00, 0xfe0f},
                                 Range{0xfe20, 0xfe2f}};

template <std::size_t N>
bool in(const std::array<Range, N>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](const Range& r) { return c >= r.first && c <= r.second; });
}

char32_t code_point(std::string_view s, std::size_t& length) {
  const auto lead = static_cast<unsigned char>(s[0]);
  length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  length = std::min(length, s.size());
  char32_t c = length == 1 ? lead : lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) c = c << 6 | (static_cast<unsigned char>(s[i]) & 0x3fU);
  return c;
}

}  // namespace

std::size_t columns_of(std::string_view utf8) {
  std::size_t columns = 0;
  while (!utf8.empty()) {
    std::size_t length = 1;
    const char32_t c = code_point(utf8, length);
    if (!in(kNoWidth, c)) columns += in(kWide, c) ? 2 : 1;
    utf8.remove_prefix(length);
  }
  return columns;
}

std::string counted(std::uint64_t n, std::string_view what) {
  return std::to_string(n) + ' ' + std::string(what) + (n == 1 ? "" : "s");
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent, std::size_t used) {
  std::string out;
  std::size_t column = used;
  bool line_empty = true;
  const auto new_line = [&] {
    out += '\n';
    column = indent;
    line_empty = true;
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t needed = columns_of(word);
    if (!line_empty && column + 1 + needed > width) new_line();
    if (!word.empty()) {
      if (line_empty && !out.empty()) out.append(indent, ' ');
      if (!line_empty) out += ' ', ++column;
      out += word;
      column += needed;
      line_empty = false;
    }
    if (end < text.size() && text[end] == '\n') new_line();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string definition(std::string_view name, std::string_view text, std::size_t width,
                       std::size_t indent, std::size_t at) {
  std::string out(indent, ' ');
  out += name;
  const bool narrow = width < at + 30;
  if (narrow || indent + columns_of(name) + 2 > at) {
    at = narrow ? indent + 4 : at;
    out.append("\n").append(at, ' ');
  } else {
    out.append(at - indent - columns_of(name), ' ');
  }
  return out + wrap(text, width, at, at) + '\n';
}

}  // namespace vfsmend
