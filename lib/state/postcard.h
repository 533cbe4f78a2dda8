// SPDX-License-Identifier: Apache-2.0
// The primitives of postcard (https://postcard.jamesmunns.com/wire-format), as virtiofsd's reader
// has them: what it accepts is accepted, and a refusal bears its text.
//
//   u32 u64 usize, counts, enum indexes   LEB128, low 7 bits first. A u64 has at most 10 bytes,
//                                         the 10th at most 0x01; a u32 at most 5, the 5th at most
//                                         0x0f. Longer forms than needed are read, never written.
//   i32                                   zigzag, then as u32
//   bool, option                          one byte, 00 or 01
//   string, bytes                         count, then that many bytes
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace vfsmend::postcard {

enum class DecodeError {
  kNone,
  kUnexpectedEnd,
  kBadVarint,
  kBadBool,
  kBadUtf8,
  kBadOption,
  kBadEnum,  // an index no variant has: the reader's derive says so, not postcard
};

// The Display text of postcard's error, which is what virtiofsd logs.
[[nodiscard]] std::string_view text_of(DecodeError error);
// The name of the variant, which CubeSandbox prints: "DeserializeUnexpectedEnd".
[[nodiscard]] std::string_view variant_of(DecodeError error);

// Reads from the front of a buffer. The first error sticks: every later read gives zeros, so
// that a caller may read a whole struct and look once. error_at() is the byte it was found at.
class Source {
 public:
  explicit Source(Bytes bytes) : bytes_(bytes) {}

  std::uint64_t u64() { return varint(10, 0x01); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(varint(5, 0x0f)); }
  std::int32_t i32();
  bool boolean() { return zero_or_one(DecodeError::kBadBool); }
  bool option() { return zero_or_one(DecodeError::kBadOption); }
  Bytes bytes();
  std::string_view string();
  // A count of items, of which each takes `smallest` bytes at least. `room` gets how many can
  // follow at all: what to allocate, for a count may be any number.
  std::uint64_t count(std::size_t smallest, std::size_t& room);
  void fail(DecodeError error, std::size_t at);

  [[nodiscard]] std::size_t offset() const { return at_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }
  [[nodiscard]] bool ok() const { return error_ == DecodeError::kNone; }
  [[nodiscard]] DecodeError error() const { return error_; }
  [[nodiscard]] std::size_t error_at() const { return error_at_; }

 private:
  std::uint64_t varint(int max_bytes, std::uint8_t max_last);
  std::uint64_t long_varint(int max_bytes, std::uint8_t max_last);
  bool zero_or_one(DecodeError error);

  Bytes bytes_;
  std::size_t at_ = 0;
  std::size_t error_at_ = 0;
  DecodeError error_ = DecodeError::kNone;
};

// Appends to a buffer, in the shortest form.
class Sink {
 public:
  explicit Sink(ByteVector& out) : out_(out) {}

  void u64(std::uint64_t value);
  void i32(std::int32_t value);
  void boolean(bool value) { out_.push_back(value ? 1 : 0); }
  void bytes(Bytes value);
  void string(std::string_view value) { bytes(as_bytes(value)); }

 private:
  ByteVector& out_;
};

}  // namespace vfsmend::postcard
