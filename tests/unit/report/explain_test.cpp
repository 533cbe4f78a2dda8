// SPDX-License-Identifier: Apache-2.0
#include "report/explain.h"

#include <gtest/gtest.h>

#include <set>

namespace vfsmend {
namespace {

TEST(Codes, AreCompleteAndInTheOrderOfTheirSubsystems) {
  const std::string subsystems = "SPIRMCHOGWANDETL";
  std::set<std::string_view> ids;
  std::pair<std::size_t, std::string> before{0, ""};
  for (const CodeInfo& entry : all_codes()) {
    EXPECT_TRUE(ids.insert(entry.id).second) << entry.id;
    const std::pair<std::size_t, std::string> place{subsystems.find(entry.id[0]), entry.id};
    EXPECT_LT(before, place);
    before = place;
    for (const std::string_view text : {entry.name, entry.evidence, entry.verdict, entry.repair,
                                        entry.commands, entry.about}) {
      EXPECT_FALSE(text.empty()) << entry.id;
    }
    const std::set<std::string_view> emitters = {"check", "check, against a capture", "capture",
                                                 "capture; check, against a capture",
                                                 "no command of this version"};
    EXPECT_TRUE(emitters.contains(entry.commands)) << entry.commands;
    EXPECT_GE(std::count(entry.about.begin(), entry.about.end(), '.'), 2) << entry.id;
    EXPECT_EQ(code_named(entry.id), entry.code);
  }
}

TEST(Explain, SaysWhoEmitsACode) {
  const std::string page = explain(Code::kM001, TextStyle{80, false});
  EXPECT_TRUE(page.starts_with("M001 mode changed\n\n  severity    F: ")) << page;
  EXPECT_NE(page.find("\n  emitted by  check, against a capture\n"),
            std::string::npos);
}

TEST(Explain, ListsEveryCode) {
  const std::string list = explain_all(TextStyle{80, false});
  for (const CodeInfo& entry : all_codes()) {
    EXPECT_NE(list.find(std::string(entry.id) + ' '), std::string::npos);
  }
  EXPECT_NE(list.find("S001 F   root record"), std::string::npos);
  EXPECT_NE(list.find("M001 F   mode changed\n"), std::string::npos);
  EXPECT_NE(list.find("W001 C - second writer"), std::string::npos);
}

}  // namespace
}  // namespace vfsmend
