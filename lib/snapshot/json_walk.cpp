// SPDX-License-Identifier: Apache-2.0
#include "snapshot/json_walk.h"

#include <fmt/core.h>
#include <rapidjson/reader.h>

#include <optional>

#include "snapshot/json_stream.h"

namespace vfsmend {
namespace {

constexpr unsigned kFlags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;

const char* expectation(rapidjson::ParseErrorCode code) {
  switch (code) {
    case rapidjson::kParseErrorDocumentEmpty: return "a JSON value";
    case rapidjson::kParseErrorDocumentRootNotSingular: return "nothing behind the value";
    case rapidjson::kParseErrorObjectMissName: return "a key";
    case rapidjson::kParseErrorObjectMissColon: return "':'";
    case rapidjson::kParseErrorObjectMissCommaOrCurlyBracket: return "',' or '}'";
    case rapidjson::kParseErrorArrayMissCommaOrSquareBracket: return "',' or ']'";
    case rapidjson::kParseErrorStringUnicodeEscapeInvalidHex: return "four hexadecimal digits";
    case rapidjson::kParseErrorStringUnicodeSurrogateInvalid: return "a pair of surrogates";
    case rapidjson::kParseErrorStringEscapeInvalid: return "a valid escape";
    case rapidjson::kParseErrorStringMissQuotationMark: return "'\"'";
    case rapidjson::kParseErrorStringInvalidEncoding: return "UTF-8";
    case rapidjson::kParseErrorNumberTooBig: return "a number of a double's range";
    case rapidjson::kParseErrorNumberMissFraction: return "digits behind the point";
    case rapidjson::kParseErrorNumberMissExponent: return "digits of an exponent";
    default: return "a value";
  }
}

// RapidJSON's handler: keeps the path, and asks the visitor.
template <typename Cursor>
class Walker {
 public:
  Walker(JsonText& text, RawSpan span, JsonVisitor& visitor)
      : text_(text), stream_(Cursor(text, span)), visitor_(visitor) {}

  Result<void> run() {
    rapidjson::Reader reader;
    const rapidjson::ParseResult result = reader.Parse<kFlags>(stream_, *this);
    if (text_.error()) return tl::make_unexpected(*text_.error());
    if (error_) return tl::make_unexpected(std::move(*error_));
    const Cursor& cursor = stream_.cursor();
    if (!visitor_.refusal().empty()) {
      const std::string where = path_.size() == 0 ? "the JSON text" : path_.text();
      return fail(ErrorCode::kUnsupported,
                  fmt::format("byte {}: {} {}", cursor.tell(), where, visitor_.refusal()));
    }
    // A character that cannot be decoded, and a NUL, read as the end of the text.
    if (cursor.bad()) return expected(cursor.tell(), "a valid escape");
    if (result.IsError()) return expected(result.Offset(), expectation(result.Code()));
    if (cursor.tell() != cursor.end()) return expected(cursor.tell(), "nothing behind the value");
    return {};
  }

  bool Null() { return scalar({}); }
  bool Bool(bool value) { return scalar({.kind = JsonKind::kBool, .boolean = value}); }
  bool Int(int) { return scalar({.kind = JsonKind::kNumber}); }  // negative ones only
  bool Uint(unsigned value) { return Uint64(value); }
  bool Int64(std::int64_t) { return scalar({.kind = JsonKind::kNumber}); }
  bool Uint64(std::uint64_t value) {
    return scalar({.kind = JsonKind::kNumber, .whole = true, .number = value, .raw = digits(value)});
  }
  bool Double(double) { return scalar({.kind = JsonKind::kNumber}); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }  // not asked for
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return scalar({.kind = JsonKind::kString, .text = {text, size},
                   .is_long = stream_.last_string_is_long(), .raw = stream_.last_string()});
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    path_.set_key({text, size}, !stream_.last_string_is_long());
    return true;
  }
  bool StartObject() { return open(JsonKind::kObject); }
  bool StartArray() { return open(JsonKind::kArray); }
  bool EndObject(rapidjson::SizeType) { return close(0); }
  bool EndArray(rapidjson::SizeType count) { return close(count); }

 private:
  bool scalar(const JsonScalar& value) {
    visitor_.begin(path_, value.kind);
    if (!visitor_.refusal().empty()) return false;
    visitor_.scalar(path_, value);
    if (!visitor_.refusal().empty()) return false;
    path_.next_element();
    return true;
  }

  // RapidJSON stands behind the number. JSON has no leading zeros and a sign would have made it
  // another kind, so its value tells how long it is.
  [[nodiscard]] RawSpan digits(std::uint64_t value) const {
    if (std::is_same_v<Cursor, EscapedCursor>) return {};
    const std::uint64_t end = stream_.Tell();
    return {end - fmt::formatted_size("{}", value), end};
  }

  bool open(JsonKind kind) {
    if (path_.size() == kMostJsonLevels) {
      error_ = Error{ErrorCode::kLimit, 0, fmt::format("byte {}: nested deeper than {} levels",
                                                       stream_.Tell(), kMostJsonLevels)};
      return false;
    }
    const JsonVisitor::Want want = visitor_.begin(path_, kind);
    if (!visitor_.refusal().empty()) return false;
    if (want == JsonVisitor::Want::kBytes && kind == JsonKind::kArray && !take_bytes()) {
      return false;
    }
    path_.enter(kind == JsonKind::kArray);
    return true;
  }

  // RapidJSON stands on the opening bracket. It goes on with the closing one.
  bool take_bytes() {
    if constexpr (std::is_same_v<Cursor, EscapedCursor>) {
      Cursor inside = stream_.cursor();
      inside.next();
      auto array = scan_byte_array(text_, {inside.tell(), inside.end()});
      if (!array) {
        error_ = std::move(array).error().context(path_.text());
        return false;
      }
      stream_.arrive_at_next(array->span.end);
      visitor_.bytes(path_, std::move(*array));
    }
    return visitor_.refusal().empty();
  }

  bool close(std::uint64_t count) {
    path_.leave();
    visitor_.end(path_, count);
    path_.next_element();
    return visitor_.refusal().empty();
  }

  [[nodiscard]] tl::unexpected<Error> expected(std::uint64_t at, const char* what) const {
    const bool at_end = at >= stream_.cursor().end() && !stream_.cursor().bad();
    return fail(ErrorCode::kFormat,
                fmt::format("byte {}: {}expected {}", at, at_end ? "the text ends here; " : "",
                            what));
  }

  JsonText& text_;
  JsonStream<Cursor> stream_;
  JsonVisitor& visitor_;
  JsonPath path_;
  std::optional<Error> error_;  // one that is not RapidJSON's
};

}  // namespace

Result<void> walk_json(JsonText& text, JsonVisitor& visitor) {
  return Walker<PlainCursor>(text, {0, text.size()}, visitor).run();
}

Result<void> walk_json(Bytes text, JsonVisitor& visitor) {
  MemorySource source(text);
  JsonText window(source);
  return walk_json(window, visitor);
}

Result<void> walk_json_string(JsonText& text, RawSpan inner, JsonVisitor& visitor) {
  return Walker<EscapedCursor>(text, inner, visitor).run();
}

}  // namespace vfsmend
