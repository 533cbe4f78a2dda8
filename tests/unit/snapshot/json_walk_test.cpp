// SPDX-License-Identifier: Apache-2.0
#include "snapshot/json_walk.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/vm_snapshot_builder.h"

namespace vfsmend::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Writes down what it is told.
class Recorder final : public JsonVisitor {
 public:
  Want begin(const JsonPath& path, JsonKind kind) override {
    if (kind == JsonKind::kArray) told.push_back(path.text() + " [");
    if (kind == JsonKind::kObject) told.push_back(path.text() + " {");
    return path.is({"bytes"}) ? Want::kBytes : Want::kWalk;
  }
  void scalar(const JsonPath& path, const JsonScalar& value) override {
    raw = value.raw;
    switch (value.kind) {
      case JsonKind::kNull:
        return told.push_back(path.text() + " null");
      case JsonKind::kBool:
        return told.push_back(path.text() + (value.boolean ? " true" : " false"));
      case JsonKind::kNumber:
        return told.push_back(path.text() +
                              (value.whole ? fmt::format(" {}", value.number) : " number"));
      case JsonKind::kString:
        return told.push_back(path.text() +
                              (value.is_long ? " long" : " '" + std::string(value.text) + "'"));
      default:
        told.emplace_back("?");
    }
  }
  void bytes(const JsonPath& path, ByteArray&& array) override {
    told.push_back(fmt::format("{} {} bytes", path.text(), array.values.size()));
    span = array.span;
  }
  void end(const JsonPath& path, std::uint64_t count) override {
    told.push_back(fmt::format("{} end {}", path.text(), count));
  }

  std::vector<std::string> told;
  RawSpan raw;
  RawSpan span;
};

std::string error_of(const std::string& text) {
  Recorder recorder;
  const auto walked = walk_json(as_bytes(text), recorder);
  return walked ? "" : walked.error().text;
}

Result<void> walk_inner(const std::string& file, RawSpan inner, JsonVisitor& visitor) {
  MemorySource source(as_bytes(file));
  JsonText text(source);
  return walk_json_string(text, inner, visitor);
}

// `inner` inside the string of a file, everything escaped as in the argument.
std::string error_of_inner(const std::string& inner) {
  Recorder recorder;
  const auto walked = walk_inner("\"" + inner + "\"", {1, 1 + inner.size()}, recorder);
  return walked ? "" : walked.error().text;
}

TEST(JsonWalk, TellsEveryValueWithItsPath) {
  Recorder recorder;
  ASSERT_TRUE(walk_json(as_bytes(R"({"a":[1,-2,{"b":null}],"c":true,"d":"x\u00e9\n","e":1.5,)"
                                 R"("f":18446744073709551615,"g":{},"h":[]})"),
                        recorder));
  EXPECT_THAT(recorder.told,
              ElementsAre(" {", "a [", "a[0] 1", "a[1] number", "a[2] {", "a[2].b null",
                          "a[2] end 0", "a end 3", "c true", "d 'x\xc3\xa9\n'", "e number",
                          "f 18446744073709551615", "g {", "g end 0", "h [", "h end 0", " end 0"));
}

TEST(JsonWalk, TellsWhereAStringLies) {
  const std::string text = R"({"a": "x\"y\\"})";
  Recorder recorder;
  ASSERT_TRUE(walk_json(as_bytes(text), recorder));
  EXPECT_EQ(text.substr(recorder.raw.begin, recorder.raw.size()), R"(x\"y\\)");
}

TEST(JsonWalk, LongStringsAreToldByTheirPlaceAlone) {
  for (const std::size_t size : {4096U, 4097U, 300'000U, 1'000'000U}) {
    for (const char* end : {"", "\\\"", "\\\\", "\\\\\\\"z"}) {
      const std::string content = std::string(size, 'x') + end;
      const std::string text = "{\"a\":\"" + content + "\",\"b\":2}";
      Recorder recorder;
      ASSERT_TRUE(walk_json(as_bytes(text), recorder)) << size << end;
      EXPECT_EQ(recorder.told[1] == "a long", content.size() > kLongestCopiedString);
      EXPECT_EQ(recorder.told[2], "b 2");
    }
  }
}

// Backslashes and quotes at every place relative to the window's end.
TEST(JsonWalk, WindowsMayCutAnything) {
  const std::size_t window = std::size_t{256} << 10;
  for (std::size_t before = window - 24; before < window + 4; ++before) {
    const std::string content = std::string(before, 'x') + R"(\\\"\"\\\\\")" + std::string(9, 'y');
    const std::string text = "{\"a\":\"" + content + "\",\"b\":\"" + R"(\u00e9\\)" + "\"}";
    Recorder recorder;
    const auto walked = walk_json(as_bytes(text), recorder);
    ASSERT_TRUE(walked) << before << walked.error().text;
    EXPECT_EQ(text.substr(recorder.raw.begin, recorder.raw.size()), R"(\u00e9\\)");
    EXPECT_EQ(recorder.told[2], "b '\xc3\xa9\\'");
  }
}

TEST(JsonWalk, ALongKeyIsNobodys) {
  const std::string text = "{\"" + std::string(5000, 'k') + "\":1}";
  Recorder recorder;
  ASSERT_TRUE(walk_json(as_bytes(text), recorder));
  EXPECT_EQ(recorder.told[1], " 1");
}

TEST(JsonWalk, SaysWhereAndWhatWasExpected) {
  EXPECT_EQ(error_of(""), "byte 0: the text ends here; expected a JSON value");
  EXPECT_EQ(error_of("{"), "byte 1: the text ends here; expected a key");
  EXPECT_EQ(error_of("{\"a\""), "byte 4: the text ends here; expected ':'");
  EXPECT_EQ(error_of("{\"a\":"), "byte 5: the text ends here; expected a value");
  EXPECT_EQ(error_of("{\"a\":1"), "byte 6: the text ends here; expected ',' or '}'");
  EXPECT_EQ(error_of("[1"), "byte 2: the text ends here; expected ',' or ']'");
  EXPECT_EQ(error_of("[1,]"), "byte 3: expected a value");
  EXPECT_EQ(error_of("[\"abc"), "byte 5: the text ends here; expected '\"'");
  EXPECT_EQ(error_of("[\"" + std::string(9000, 'a')),
            "byte 9002: the text ends here; expected '\"'");
  EXPECT_EQ(error_of("{} x"), "byte 3: expected nothing behind the value");
  EXPECT_EQ(error_of("[\"\\q\"]"), "byte 2: expected a valid escape");
  EXPECT_EQ(error_of("[\"\xff\"]"), "byte 2: expected UTF-8");
  EXPECT_EQ(error_of("[tru]"), "byte 4: expected a value");
  EXPECT_EQ(error_of(std::string("[1,\0]", 5)), "byte 3: expected a value");
  EXPECT_EQ(error_of(std::string("[1]\0", 4)), "byte 3: expected nothing behind the value");
}

TEST(JsonWalk, NestingIsBounded) {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_EQ(error_of(nested(127)), "");
  EXPECT_EQ(error_of(nested(128)), "byte 127: nested deeper than 127 levels");
  EXPECT_EQ(error_of(std::string(10'000'000, '[')), "byte 127: nested deeper than 127 levels");
  EXPECT_EQ(error_of_inner(nested(10'000)), "byte 128: nested deeper than 127 levels");
}

TEST(JsonWalkString, DecodesTheOuterEscapes) {
  const std::string inner = json_string("{\"a\":\"q\\\"\\\\\\u00e9\",\n\t\"b\":[1]}");
  Recorder recorder;
  ASSERT_TRUE(walk_inner(inner, {1, inner.size() - 1}, recorder));
  EXPECT_THAT(recorder.told,
              ElementsAre(" {", "a 'q\"\\\xc3\xa9'", "b [", "b[0] 1", "b end 1", " end 0"));
}

TEST(JsonWalkString, EscapesOfAnyKindMayStandForAnything) {
  // {"bytes":[1,2 , 30]} in which every character is an escape.
  std::string inner;
  for (const char c : std::string_view("{\"bytes\":[1,2 , 30\n],\"z\":\"\xc3\xa9\"}")) {
    if (static_cast<unsigned char>(c) < 0x80) inner += fmt::format("\\u{:04x}", c);
    if (c == '\xc3') inner += "\\u00e9\\ud83d\\ude00";
  }
  Recorder recorder;
  const auto walked = walk_inner("\"" + inner + "\"", {1, inner.size() + 1}, recorder);
  ASSERT_TRUE(walked) << walked.error().text;
  EXPECT_THAT(recorder.told, ElementsAre(" {", "bytes [", "bytes 3 bytes", "bytes end 0",
                                         "z '\xc3\xa9\xf0\x9f\x98\x80'", " end 0"));
}

TEST(JsonWalkString, ErrorsNameThePlaceInTheFile) {
  EXPECT_EQ(error_of_inner(R"({\"a\")"), "byte 7: the text ends here; expected ':'");
  EXPECT_EQ(error_of_inner(R"({\"a\":\q})"), "byte 8: expected a valid escape");
  EXPECT_EQ(error_of_inner(R"({\"a\":\u12})"), "byte 8: expected a valid escape");
  EXPECT_EQ(error_of_inner(R"([\"\ud800\"])"), "byte 4: expected a valid escape");
  EXPECT_EQ(error_of_inner(R"([1,\u0000])"), "byte 4: expected a value");
  EXPECT_EQ(error_of_inner("[1,\n2]"), "byte 4: expected a valid escape");
  EXPECT_EQ(error_of_inner(R"([\"\\x\"])"), "byte 4: expected a valid escape");
}

TEST(JsonWalkString, LongStringsInsideAreNotCopiedEither) {
  for (const char* end : {"", R"(\\\")", R"(\\\\)"}) {
    const std::string inner = R"({\"a\":\")" + std::string(300'000, 'x') + end + R"(\",\"b\":1})";
    Recorder recorder;
    const auto walked = walk_inner("\"" + inner + "\"", {1, inner.size() + 1}, recorder);
    ASSERT_TRUE(walked) << walked.error().text;
    EXPECT_THAT(recorder.told, ElementsAre(" {", "a long", "b 1", " end 0"));
  }
}

TEST(JsonWalkString, BytesAreTakenWithTheirPlace) {
  const std::string inner = R"({\"bytes\":[0, 7,255],\"b\":[1]})";
  Recorder recorder;
  ASSERT_TRUE(walk_inner("\"" + inner + "\"", {1, inner.size() + 1}, recorder));
  EXPECT_THAT(recorder.told, ElementsAre(" {", "bytes [", "bytes 3 bytes", "bytes end 0", "b [",
                                         "b[0] 1", "b end 1", " end 0"));
  EXPECT_EQ(inner.substr(recorder.span.begin - 1, recorder.span.size()), "0, 7,255");
  EXPECT_EQ(
      error_of_inner(R"({\"bytes\":[1,2)"),
      "bytes: byte 16: the JSON text in the string ends here; expected ',' or ']' (element 2)");
  EXPECT_EQ(error_of_inner(R"({\"bytes\":[1,\"x\"]})"),
            "bytes: byte 15: expected a number from 0 to 255 (element 1)");
}

}  // namespace
}  // namespace vfsmend::test
