// SPDX-License-Identifier: Apache-2.0
#include "state/postcard.h"

#include <algorithm>

#include "base/text.h"

namespace vfsmend::postcard {

std::string_view text_of(DecodeError error) {
  switch (error) {
    case DecodeError::kNone: return "";
    case DecodeError::kUnexpectedEnd: return "Hit the end of buffer, expected more data";
    case DecodeError::kBadVarint:
      return "Found a varint that didn't terminate. Is the usize too big for this platform?";
    case DecodeError::kBadBool: return "Found a bool that wasn't 0 or 1";
    case DecodeError::kBadUtf8: return "Tried to parse invalid utf-8";
    case DecodeError::kBadOption: return "Found an Option discriminant that wasn't 0 or 1";
    case DecodeError::kBadEnum: return "Serde Deserialization Error";
  }
  return "?";
}

std::string_view variant_of(DecodeError error) {
  switch (error) {
    case DecodeError::kNone: return "";
    case DecodeError::kUnexpectedEnd: return "DeserializeUnexpectedEnd";
    case DecodeError::kBadVarint: return "DeserializeBadVarint";
    case DecodeError::kBadBool: return "DeserializeBadBool";
    case DecodeError::kBadUtf8: return "DeserializeBadUtf8";
    case DecodeError::kBadOption: return "DeserializeBadOption";
    case DecodeError::kBadEnum: return "SerdeDeCustom";
  }
  return "?";
}

void Source::fail(DecodeError error, std::size_t at) {
  if (!ok()) return;
  error_ = error;
  error_at_ = at;
}

std::uint64_t Source::varint(int max_bytes, std::uint8_t max_last) {
  if (ok() && at_ < bytes_.size() && bytes_[at_] < 0x80) return bytes_[at_++];  // nearly all
  return long_varint(max_bytes, max_last);
}

std::uint64_t Source::long_varint(int max_bytes, std::uint8_t max_last) {
  if (!ok()) return 0;
  const std::size_t start = at_;
  std::uint64_t value = 0;
  for (int i = 0; i < max_bytes; ++i) {
    if (at_ == bytes_.size()) return fail(DecodeError::kUnexpectedEnd, at_), 0;
    const std::uint8_t byte = bytes_[at_++];
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      if (i == max_bytes - 1 && byte > max_last) return fail(DecodeError::kBadVarint, start), 0;
      return value;
    }
  }
  return fail(DecodeError::kBadVarint, start), 0;
}

std::int32_t Source::i32() {
  const std::uint32_t z = u32();
  return static_cast<std::int32_t>((z >> 1) ^ (0U - (z & 1)));
}

bool Source::zero_or_one(DecodeError error) {
  if (!ok()) return false;
  if (at_ == bytes_.size()) return fail(DecodeError::kUnexpectedEnd, at_), false;
  const std::uint8_t byte = bytes_[at_++];
  if (byte > 1) fail(error, at_ - 1);
  return byte == 1;
}

Bytes Source::bytes() {
  const std::uint64_t size = u64();
  if (!ok()) return {};
  if (size > left()) return fail(DecodeError::kUnexpectedEnd, bytes_.size()), Bytes{};
  const Bytes out = bytes_.subspan(at_, size);
  at_ += size;
  return out;
}

std::string_view Source::string() {
  const Bytes raw = bytes();
  const std::string_view text = as_text(raw);
  const bool ascii = std::all_of(raw.begin(), raw.end(), [](std::uint8_t b) { return b < 0x80; });
  if (!ascii && !is_utf8(text)) return fail(DecodeError::kBadUtf8, at_ - raw.size()), "";
  return text;
}

std::uint64_t Source::count(std::size_t smallest, std::size_t& room) {
  const std::uint64_t value = u64();
  room = std::min<std::uint64_t>(value, left() / smallest);
  return value;
}

void Sink::u64(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<std::uint8_t>(value | 0x80));
  out_.push_back(static_cast<std::uint8_t>(value));
}

void Sink::i32(std::int32_t value) {
  const auto bits = static_cast<std::uint32_t>(value);
  u64(static_cast<std::uint32_t>(bits << 1) ^ static_cast<std::uint32_t>(value >> 31));
}

void Sink::bytes(Bytes value) {
  u64(value.size());
  out_.insert(out_.end(), value.begin(), value.end());
}

}  // namespace vfsmend::postcard
