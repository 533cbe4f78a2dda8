// SPDX-License-Identifier: Apache-2.0
// --help, the manual pages and the shell completion name the same options.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "support/temp_dir.h"
#include "vfsmend/options.h"

namespace vfsmend {
namespace {

std::string source_file(const std::string& name) {
  const std::string text = test::read_text(std::string(VFSMEND_SOURCE_DIR "/") + name);
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

std::set<std::string> options_in_table(const CommandSpec& command) {
  std::set<std::string> names;
  for (const OptionSpec* spec : options_of(command)) names.emplace(spec->name);
  return names;
}

std::set<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> names;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), pattern);
       it != std::sregex_iterator(); ++it) {
    names.insert((*it)[1]);
  }
  return names;
}

// In scdoc an option's entry begins a line with *--name*.
TEST(Names, OfTheManualPagesAreThoseOfTheTable) {
  const std::regex entry(R"((?:^|\n)(?:\*-[a-z]\*, )?\*--([a-z-]+)\*)");
  for (const char* name : {"capture", "check", "rehearse", "inspect", "repair", "undo", "nodemap"}) {
    const std::string page = source_file("docs/man/vfsmend-" + std::string(name) + ".1.scd");
    EXPECT_EQ(matches(page, entry), options_in_table(*command_named(name))) << name;
  }
  const std::string page = source_file("docs/man/vfsmend.1.scd");
  for (const CommandSpec& command : all_commands()) {
    EXPECT_NE(page.find("*" + std::string(command.name) + "*"), std::string::npos);
  }
}

// In the completion a variable holds the options of each command.
TEST(Names, OfTheCompletionAreThoseOfTheTable) {
  const std::string script = source_file("tools/completions/vfsmend.bash");
  for (const CommandSpec& command : all_commands()) {
    const std::regex list("local " + std::string(command.name) + "='([^']*)'");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(script, found, list)) << command.name;
    const std::string words = found[1];
    EXPECT_EQ(matches(words, std::regex("--([a-z-]+)")), options_in_table(command));
  }
}

}  // namespace
}  // namespace vfsmend
