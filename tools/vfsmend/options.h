// SPDX-License-Identifier: Apache-2.0
// The commands and their options as one table: the parser, --help, the manual pages and the shell
// completion have to name the same ones, and a test holds them to it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace vfsmend {

enum CommandBit : unsigned {
  kCheckCommand = 1,
  kInspectCommand = 2,
  kExplainCommand = 4,
  kRehearseCommand = 8,
  kCaptureCommand = 16,
  kRepairCommand = 32,
  kUndoCommand = 64,
  kNodemapCommand = 128,
};

struct CommandSpec {
  CommandBit bit;
  std::string_view name;
  std::string_view operands;  // as in the line of usage
  std::string_view summary;   // a line
  std::string_view about;     // paragraphs for --help
};

enum class Takes { kNothing, kOne, kMany, kMaybeOne };

// An option that means something else to another command stands once for each of them.
struct OptionSpec {
  std::string_view name;   // without its dashes
  Takes takes;             // kMany: may be repeated; kMaybeOne: only as --name=VALUE
  std::string_view value;  // what stands for the value in help: "DIR"
  unsigned commands;       // CommandBits
  std::string_view group;  // heading in help
  std::string_view help;
  char letter = '\0';       // its short form
};

[[nodiscard]] std::span<const CommandSpec> all_commands();
[[nodiscard]] const CommandSpec* command_named(std::string_view name);
[[nodiscard]] std::span<const OptionSpec> all_options();
// The first of that name, whatever its command.
[[nodiscard]] const OptionSpec* spec_named(std::string_view name);
// In the order of the table.
[[nodiscard]] std::vector<const OptionSpec*> options_of(const CommandSpec& command);

// What was on the command line, in its order. A flag has the value "".
struct Parsed {
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::string> operands;

  [[nodiscard]] bool has(std::string_view name) const;
  // The last value, or `otherwise`.
  [[nodiscard]] std::string_view value(std::string_view name, std::string_view otherwise) const;
};

// kUsage: an option that the command does not have (with the one that was meant, if one is near),
// one without its value, or two different values for an option that takes one.
[[nodiscard]] Result<Parsed> parse_options(const CommandSpec& command,
                                           std::span<const std::string> args);

// Usage, paragraphs and options of a command for a screen of that many columns.
[[nodiscard]] std::string command_help(const CommandSpec& command, unsigned width);
// The help of `vfsmend` itself.
[[nodiscard]] std::string general_help();

}  // namespace vfsmend
