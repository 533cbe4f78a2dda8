// SPDX-License-Identifier: Apache-2.0
// RapidJSON's Writer with the two rules of our documents: a 64-bit number is a decimal string, for
// most readers of JSON keep 53 bits; and a string is for eyes too, so that bytes which are not
// UTF-8 become U+FFFD, and control characters and direction marks leave as escapes: file names are
// chosen by a tenant, and JSON gets printed to terminals.
#pragma once

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vfsmend {

class JsonWriter {
 public:
  JsonWriter() : writer_(buffer_) {}
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void begin_object() { writer_.StartObject(); }
  void end_object() { writer_.EndObject(); }
  void begin_array() { writer_.StartArray(); }
  void end_array() { writer_.EndArray(); }
  void begin_object(std::string_view name) { key(name), begin_object(); }
  void begin_array(std::string_view name) { key(name), begin_array(); }

  void key(std::string_view name) { value(name); }
  void null() { writer_.Null(); }
  void value(std::string_view text);
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool flag) { writer_.Bool(flag); }
  void value(int number) { writer_.Int(number); }
  void value(std::int64_t number) { writer_.Int64(number); }
  void count(std::uint64_t number) { writer_.Uint64(number); }  // a number of things, not an id
  void id(std::uint64_t number) { value(std::to_string(number)); }

  template <typename T>
  void member(std::string_view name, const T& content) {
    key(name);
    value(content);
  }
  template <typename T>
  void member(std::string_view name, const std::optional<T>& content) {
    key(name);
    content ? value(*content) : null();
  }
  // Null where there is nothing to say.
  void member_or_null(std::string_view name, std::string_view text) {
    key(name);
    text.empty() ? null() : value(text);
  }
  void member_id(std::string_view name, std::uint64_t number) { key(name), id(number); }
  void member_id(std::string_view name, const std::optional<std::uint64_t>& number) {
    key(name);
    number ? id(*number) : null();
  }
  void member_count(std::string_view name, std::uint64_t number) { key(name), count(number); }

  // Ends the line. The writer is empty again then, and takes the next document.
  void end_line(std::string& out);

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_;
};

}  // namespace vfsmend
