// SPDX-License-Identifier: Apache-2.0
// Policies: what they say, and what is said of those that cannot be understood.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "support/temp_dir.h"
#include "sys/calls.h"
#include "verdict/manifest_of.h"
#include "verdict/policy.h"

namespace vfsmend::test {
namespace {

std::string error_of(std::string_view text) {
  const auto policy = Policy::parse(text);
  if (policy) return "understood";
  EXPECT_EQ(policy.error().code, ErrorCode::kUsage);
  return policy.error().text;
}

std::optional<PolicyAction> decides(std::string_view text, Code code, std::string_view path) {
  const auto policy = Policy::parse(text);
  EXPECT_TRUE(policy) << policy.error().text;
  return policy ? policy->action(code, path) : std::nullopt;
}

constexpr const char* kForm = ": is not CODE GLOB ACTION, as in \"C001 logs/*.log append-ok\"";

TEST(Policy, SaysWhatItDoesNotUnderstand) {
  const struct {
    std::string text;
    std::string error;
  } kCases[] = {
      {"M001", std::string("line 1") + kForm},
      {"M001 ignore", std::string("line 1") + kForm},
      {"M001\t \t ignore", std::string("line 1") + kForm},
      {"# fine\n\nM001 * ignore\nnonsense", std::string("line 4") + kForm},
      {"X001 * ignore", "line 1: \"X001\" is no code"},
      {"M01 * ignore", "line 1: \"M01\" is no code"},
      {"M* * ignore", "line 1: \"M*\" is no code"},
      {"\x01\xff * ignore", "line 1: \"\\x01\\xff\" is no code"},
      {"M001 * delete", "line 1: \"delete\" is none of ignore, warn, must-match, append-ok"},
      {"M001 * IGNORE", "line 1: \"IGNORE\" is none of ignore, warn, must-match, append-ok"},
      {"M001 * append-ok", "line 1: append-ok is for C001 alone"},
      {"C002 * append-ok", "line 1: append-ok is for C001 alone"},
      {"* * append-ok", "line 1: append-ok is for C001 alone"},
      {"S001 * ignore", "line 1: S001 decides whether the restore works at all: no policy changes that"},
  };
  for (const auto& c : kCases) EXPECT_EQ(error_of(c.text), c.error) << c.text;
}

TEST(Policy, WhatFailsTheLoadIsNoMatterOfTaste) {
  int named = 0;
  for (const CodeInfo& code : all_codes()) {
    const char letter = code.id[0];
    const bool may = std::string_view("IMCGTL").find(letter) != std::string_view::npos ||
                     code.id == "R002" || code.id == "R003";
    const std::string error = error_of(std::string(code.id) + " * ignore");
    EXPECT_EQ(error == "understood", may) << code.id << ": " << error;
    EXPECT_EQ(decides("* * ignore", code.code, "a").has_value(), may) << code.id;
    named += may;
  }
  EXPECT_GT(named, 10);
}

TEST(Policy, OfNothingDecidesNothing) {
  for (const char* text : {"", "\n\n", "# M001 * ignore", "  \t\r\n#x\r\n"}) {
    EXPECT_EQ(decides(text, Code::kM001, "a"), std::nullopt);
    EXPECT_TRUE(Policy::parse(text)->empty());
  }
}

TEST(Policy, TheFirstThatFitsDecides) {
  constexpr std::string_view kText =
      "M001 etc/keep must-match\r\n"
      "  M001   etc/*\twarn  \n"
      "* etc/* ignore\n"
      "C001 *.log append-ok\n"
      "C001 * must-match";  // without a newline
  EXPECT_EQ(decides(kText, Code::kM001, "etc/keep"), PolicyAction::kMustMatch);
  EXPECT_EQ(decides(kText, Code::kM001, "etc/d/x"), PolicyAction::kWarn);
  EXPECT_EQ(decides(kText, Code::kM002, "etc/keep"), PolicyAction::kIgnore);
  EXPECT_EQ(decides(kText, Code::kC001, "etc/a.log"), PolicyAction::kIgnore);
  EXPECT_EQ(decides(kText, Code::kC001, "var/a.log"), PolicyAction::kAppendOk);
  EXPECT_EQ(decides(kText, Code::kC001, "var/a"), PolicyAction::kMustMatch);
  EXPECT_EQ(decides(kText, Code::kM001, "var/a"), std::nullopt);
  EXPECT_EQ(decides("m001 a warn", Code::kM001, "a"), PolicyAction::kWarn) << "codes in any case";
  EXPECT_EQ(decides("M001 a b  c warn", Code::kM001, "a b  c"), PolicyAction::kWarn) << "spaces in names";
}

TEST(Policy, ASlashAtTheBeginningIsTheShare) {
  EXPECT_EQ(decides("M001 /logs/* ignore", Code::kM001, "logs/a"), PolicyAction::kIgnore);
  EXPECT_EQ(decides("M001 //logs/* ignore", Code::kM001, "logs/a"), PolicyAction::kIgnore);
  EXPECT_EQ(decides("M001 /logs/* ignore", Code::kM001, "d/logs/a"), std::nullopt);
  EXPECT_EQ(decides("M001 / ignore", Code::kM001, ""), PolicyAction::kIgnore);
  EXPECT_EQ(decides("M001 / ignore", Code::kM001, "a"), std::nullopt);
}

TEST(Policy, IsReadFromAFile) {
  const TempDir dir;
  const std::string good = dir.write("good", "M001 * warn\n");
  const auto policy = read_policy(sys::kernel(), good);
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->action(Code::kM001, "x"), PolicyAction::kWarn);
  EXPECT_TRUE(read_policy(sys::kernel(), "")->empty());
  const struct {
    std::string file;
    std::string error;
  } kCases[] = {
      {dir.write("bad", "M001 * warn\nM001 x\n"), std::string("line 2") + kForm},
      {dir / "nothing", "No such file or directory"},
      {dir.path(), "a directory"},
      {dir.write("large", std::string((1 << 20) + 1, '#')), "1048577 bytes, more than 1048576"},
  };
  for (const auto& c : kCases) {
    const auto read = read_policy(sys::kernel(), c.file);
    ASSERT_FALSE(read) << c.file;
    EXPECT_EQ(read.error().code, ErrorCode::kUsage);
    EXPECT_TRUE(read.error().text.starts_with("--policy " + c.file + ": ")) << read.error().text;
    EXPECT_NE(read.error().text.find(c.error), std::string::npos) << read.error().text;
  }
}

TEST(Glob, TakesWhatItSays) {
  const struct {
    std::string_view glob;
    std::string_view text;
    bool takes;
  } kCases[] = {
      {"", "", true},          {"", "a", false},         {"*", "", true},          {"*", "a/b/c", true},
      {"a", "a", true},        {"a", "ab", false},       {"?", "", false},         {"?", "\xff", true},
      {"a*", "a", true},       {"a*b", "ab", true},      {"a*b", "a/x/b", true},   {"a*b", "abc", false},
      {"*a*b*", "xxaxxbxx", true}, {"*a*b*", "xxbxxaxx", false}, {"a**b", "ab", true}, {"*.log", "d/x.log", true},
      {"[a-c]x", "bx", true},  {"[a-c]x", "dx", false},  {"[!a-c]x", "dx", true},  {"[^a-c]x", "bx", false},
      {"[abc]", "c", true},    {"[a-]", "-", true},      {"[-a]", "-", true},      {"[]a]", "]", true},
      {"[a", "[a", true},      {"[", "[", true},         {"[]", "[]", true},       {"[a*", "[abc", true},
      {"\\*", "*", true},      {"\\*", "a", false},      {"\\[a]", "[a]", true},   {"a\\", "a\\", true},
      {"\\\\", "\\", true},    {"*[0-9]", "a7", true},   {"*[0-9]", "7a", false},  {"*\\*", "a*", true},
      {"[\x80-\xff]", "\xc3", true}, {"[a-\xff]", "\xc3", true}, {"[a-\xff]", "b", true}, {"[a-\xff]", "A", false},
      {"*ab", "aab", true},    {"*aab", "aaab", true},   {"*abac", "ababac", true},
  };
  for (const auto& c : kCases) EXPECT_EQ(glob_matches(c.glob, c.text), c.takes) << c.glob << " on " << c.text;
}

// Against what is so by definition, on all short globs and texts.
bool by_definition(std::string_view glob, std::string_view text) {
  if (glob.empty()) return text.empty();
  if (glob[0] == '*') {
    return by_definition(glob.substr(1), text) || (!text.empty() && by_definition(glob, text.substr(1)));
  }
  return !text.empty() && (glob[0] == '?' || glob[0] == text[0]) &&
         by_definition(glob.substr(1), text.substr(1));
}

void each(std::string_view letters, std::size_t length, const std::function<void(const std::string&)>& act) {
  std::size_t count = 1;
  for (std::size_t i = 0; i < length; ++i) count *= letters.size();
  for (std::size_t n = 0; n < count; ++n) {
    std::string text;
    for (std::size_t rest = n; text.size() < length; rest /= letters.size()) text += letters[rest % letters.size()];
    act(text);
  }
}

TEST(Glob, IsWhatItIsByDefinition) {
  for (std::size_t length = 0; length <= 5; ++length) {
    each("ab*?", length, [](const std::string& glob) {
      for (std::size_t size = 0; size <= 5; ++size) {
        each("ab", size, [&](const std::string& text) {
          ASSERT_EQ(glob_matches(glob, text), by_definition(glob, text)) << glob << " on " << text;
        });
      }
    });
  }
}

// What tries every way to take the text would be here for ever.
TEST(Glob, TakesItsTimeWithNoPattern) {
  const auto begin = std::chrono::steady_clock::now();
  std::string stars;
  for (int i = 0; i < 1000; ++i) stars += "*a";
  EXPECT_FALSE(glob_matches(stars + "b", std::string(4095, 'a')));
  EXPECT_FALSE(glob_matches("*" + std::string(2000, 'a') + "b", std::string(4095, 'a')));
  // Sets without an end, which would each be looked for in all that follows.
  EXPECT_FALSE(glob_matches("*" + std::string(2000, '[') + "b" + std::string(1 << 20, 'c'), std::string(4095, '[')));
  EXPECT_TRUE(glob_matches("*" + std::string(1 << 16, '[') + "]", std::string(4095, '[')));
  EXPECT_FALSE(glob_matches("*[" + std::string(1 << 14, 'a') + "]b", std::string(4095, 'a')));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

}  // namespace
}  // namespace vfsmend::test
