// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace vfsmend {
namespace {

struct Utf8Step {
  std::size_t length;  // bytes to go on by; for an ill-formed part its maximal prefix
  bool valid;
  char32_t code_point;
};

// One step of the table in The Unicode Standard, 3.9 (well-formed UTF-8 byte sequences).
Utf8Step utf8_step(std::string_view s) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {1, true, lead};
  if (lead < 0xc2 || lead > 0xf4) return {1, false, 0};
  const std::size_t need = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
  if (lead == 0xe0) low = 0xa0;
  if (lead == 0xed) high = 0x9f;
  if (lead == 0xf0) low = 0x90;
  if (lead == 0xf4) high = 0x8f;
  char32_t code = lead & (0x3fU >> need);
  for (std::size_t i = 1; i <= need; ++i) {
    if (i >= s.size() || at(i) < low || at(i) > high) return {i, false, 0};
    code = code << 6 | (at(i) & 0x3fU);
    low = 0x80;
    high = 0xbf;
  }
  return {need + 1, true, code};
}

// How many of the first bytes are ASCII, eight at a time: most names are nothing else.
std::size_t ascii_length(std::string_view s) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  std::size_t at = 0;
  std::uint64_t eight = 0;
  for (; at + sizeof eight <= s.size(); at += sizeof eight) {
    std::memcpy(&eight, s.data() + at, sizeof eight);
    if ((eight & kHighBits) != 0) break;
  }
  while (at < s.size() && static_cast<unsigned char>(s[at]) < 0x80) ++at;
  return at;
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

// Characters that change how what follows is shown: U+200E, U+202A to U+202E, U+2066 to U+2069.
bool is_bidi_control(char32_t c) {
  return c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

std::string errno_text(int err) {
  std::array<char, 128> buffer{};
  return strerror_r(err, buffer.data(), buffer.size());  // the GNU form: returns the text
}

std::string os_error_text(int err) { return fmt::format("{} (os error {})", errno_text(err), err); }

bool is_utf8(std::string_view s) {
  while (!s.empty()) {
    if (const std::size_t ascii = ascii_length(s); ascii > 0) {
      s.remove_prefix(ascii);
      continue;
    }
    const Utf8Step step = utf8_step(s);
    if (!step.valid) return false;
    s.remove_prefix(step.length);
  }
  return true;
}

std::string utf8_lossy(std::string_view s) {
  std::string out;
  out.reserve(s.size());
  while (!s.empty()) {
    const Utf8Step step = utf8_step(s);
    out.append(step.valid ? s.substr(0, step.length) : std::string_view("\xef\xbf\xbd"));
    s.remove_prefix(step.length);
  }
  return out;
}

std::string rust_debug(std::string_view s) {
  std::string out = "\"";
  while (!s.empty()) {
    const Utf8Step step = utf8_step(s);
    const std::string_view part = s.substr(0, step.length);
    s.remove_prefix(step.length);
    switch (part[0]) {
      case '"': out += "\\\""; continue;
      case '\\': out += "\\\\"; continue;
      case '\n': out += "\\n"; continue;
      case '\r': out += "\\r"; continue;
      case '\t': out += "\\t"; continue;
      case '\0': out += "\\0"; continue;
      default: break;
    }
    if (step.valid && (is_control(step.code_point) || is_bidi_control(step.code_point))) {
      out += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(step.code_point));
    } else {
      out += part;
    }
  }
  return out + '"';
}

std::string spaced_hex(Bytes b) {
  std::string out;
  out.reserve(b.size() * 3);
  for (const std::uint8_t byte : b) {
    if (!out.empty()) out += ' ';
    fmt::format_to(std::back_inserter(out), "{:02x}", byte);
  }
  return out;
}

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::optional<std::string> from_base64(std::string_view s) {
  if (s.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = s.ends_with("==") ? 2 : s.ends_with('=') ? 1 : 0;
  std::string out;
  for (std::size_t i = 0; i < s.size(); i += 4) {
    std::uint32_t bits = 0;
    for (std::size_t k = i; k < i + 4; ++k) {
      const bool pad = k >= s.size() - padding;
      const std::size_t digit = pad ? 0 : kDigits.find(s[k]);
      if (digit == std::string_view::npos) return std::nullopt;
      bits = bits << 6 | static_cast<std::uint32_t>(digit);
    }
    out += static_cast<char>(bits >> 16 & 0xff);
    out += static_cast<char>(bits >> 8 & 0xff);
    out += static_cast<char>(bits & 0xff);
  }
  out.resize(out.size() - padding);
  return out;
}

std::string base64(std::string_view s) {
  std::string out;
  out.reserve((s.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < s.size(); i += 3) {
    const auto at = [&](std::size_t k) -> unsigned {
      return k < s.size() ? static_cast<unsigned char>(s[k]) : 0U;
    };
    const unsigned bits = at(i) << 16 | at(i + 1) << 8 | at(i + 2);
    out += kDigits[bits >> 18];
    out += kDigits[bits >> 12 & 63];
    out += i + 1 < s.size() ? kDigits[bits >> 6 & 63] : '=';
    out += i + 2 < s.size() ? kDigits[bits & 63] : '=';
  }
  return out;
}

std::string printable(std::string_view s) {
  std::string out;
  out.reserve(s.size());
  while (!s.empty()) {
    const Utf8Step step = utf8_step(s);
    const std::string_view part = s.substr(0, step.length);
    s.remove_prefix(step.length);
    if (step.valid && !is_control(step.code_point) && !is_bidi_control(step.code_point)) {
      out += part;
    } else if (part == "\n") {
      out += "\\n";
    } else if (part == "\t") {
      out += "\\t";
    } else if (part == "\r") {
      out += "\\r";
    } else {
      for (const char c : part) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace vfsmend
