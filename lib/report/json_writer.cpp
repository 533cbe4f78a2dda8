// SPDX-License-Identifier: Apache-2.0
#include "report/json_writer.h"

#include <fmt/format.h>

#include <iterator>

#include "base/text.h"

namespace vfsmend {
namespace {

// What stands at the front of valid UTF-8 and must not reach a terminal: C1 controls (U+0080 to
// U+009F), direction marks (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069) and the two line
// separators that JavaScript does not want in a string (U+2028, U+2029). 0: nothing of the kind.
char32_t hidden_at(std::string_view s) {
  const auto at = [&](std::size_t i) {
    return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U;
  };
  if (at(0) == 0xc2 && at(1) < 0xa0) return at(1);
  if (at(0) != 0xe2) return 0;
  const char32_t c = 0x2000U | (at(1) & 0x3fU) << 6 | (at(2) & 0x3fU);
  const bool hidden = c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
                      (c >= 0x2066 && c <= 0x2069);
  return hidden ? c : 0;
}

void escape_ascii(char c, std::string& out) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  const auto code = static_cast<unsigned char>(c);
  if (code < 0x20 || code == 0x7f) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
  } else {
    out += c;
  }
}

std::string quoted(std::string_view utf8) {
  std::string out = "\"";
  out.reserve(utf8.size() + 2);
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const bool ascii = static_cast<unsigned char>(utf8[i]) < 0x80;
    if (const char32_t hidden = ascii ? 0 : hidden_at(utf8.substr(i)); hidden != 0) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(hidden));
      i += hidden < 0x100 ? 1 : 2;
    } else {
      escape_ascii(utf8[i], out);
    }
  }
  return out += '"';
}

}  // namespace

void JsonWriter::value(std::string_view text) {
  const std::string raw = is_utf8(text) ? quoted(text) : quoted(utf8_lossy(text));
  writer_.RawValue(raw.data(), raw.size(), rapidjson::kStringType);
}

void JsonWriter::end_line(std::string& out) {
  out.append(buffer_.GetString(), buffer_.GetSize()) += '\n';
  buffer_.Clear();
  writer_.Reset(buffer_);
}

}  // namespace vfsmend
