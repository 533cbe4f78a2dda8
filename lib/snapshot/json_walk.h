// SPDX-License-Identifier: Apache-2.0
// Walks a JSON text and tells a visitor what stands where. No tree is built, no stack frame is
// spent on nesting, long strings are not copied: memory does not grow with the text.
//
// Strictness is that of the programs that read these files at a resume (serde_json): UTF-8, at
// most 127 levels, nothing behind the value. Of a key that stands twice both values are told; a
// visitor forgets the first when the second begins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "snapshot/byte_array.h"
#include "snapshot/json_path.h"
#include "snapshot/json_text.h"

namespace vfsmend {

// Strings with more bytes in the file than this are told by their place alone.
inline constexpr std::uint64_t kLongestCopiedString = 4096;
inline constexpr std::size_t kMostJsonLevels = 127;

enum class JsonKind { kNull, kBool, kNumber, kString, kArray, kObject };

struct JsonScalar {
  JsonKind kind = JsonKind::kNull;
  bool boolean = false;
  bool whole = false;         // a number from 0 to 2^64 - 1, which `number` holds
  std::uint64_t number = 0;
  std::string_view text{};    // of a string; valid during the call; empty where it is long
  bool is_long = false;
  // Bytes in the file: of a string, without its quotes; of a whole number, its digits (nothing where
  // the number stands in an escaped text).
  RawSpan raw{};
};

class JsonVisitor {
 public:
  enum class Want { kWalk, kBytes };

  JsonVisitor() = default;
  JsonVisitor(const JsonVisitor&) = delete;
  JsonVisitor& operator=(const JsonVisitor&) = delete;
  virtual ~JsonVisitor() = default;

  // A value of this kind begins at `path`. For an array inside an escaped text, kBytes asks for
  // its elements as one ByteArray instead of one by one.
  virtual Want begin(const JsonPath&, JsonKind) { return Want::kWalk; }
  virtual void scalar(const JsonPath&, const JsonScalar&) {}
  virtual void bytes(const JsonPath&, ByteArray&&) {}
  // A container ends; an array had `count` elements (none that were given as bytes).
  virtual void end(const JsonPath&, std::uint64_t /*count*/) {}

  // Why the visitor wants no more: "is not an array".
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 protected:
  void refuse(std::string why) {
    if (refusal_.empty()) refusal_ = std::move(why);
  }

 private:
  std::string refusal_;
};

// A file that is one JSON text. kFormat: "byte 17: expected ':'"; kLimit where it is nested too
// deep; kUnsupported where the visitor refused: it is JSON, and not as we know it (another
// version's, perhaps: not damaged); kSystem where it cannot be read.
[[nodiscard]] Result<void> walk_json(JsonText& text, JsonVisitor& visitor);
[[nodiscard]] Result<void> walk_json(Bytes text, JsonVisitor& visitor);

// The JSON text that stands, escaped, in the bytes `inner` of a file: a string without its quotes.
[[nodiscard]] Result<void> walk_json_string(JsonText& text, RawSpan inner, JsonVisitor& visitor);

}  // namespace vfsmend
