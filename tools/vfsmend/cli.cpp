// SPDX-License-Identifier: Apache-2.0
#include "vfsmend/cli.h"

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "report/json.h"
#include "vfsmend/commands.h"
#include "vfsmend/options.h"
#include "vfsmend/output.h"
#include "vfsmend/suggest.h"

namespace vfsmend {
namespace {

int say(const Io& io, std::string text) {
  return deliver({exit_status::kGood, std::move(text), ""}, "", "", io);
}

int usage_error(const Io& io, std::string_view command, const Error& error) {
  const std::string prefix = command.empty() ? "" : fmt::format("{}: ", command);
  io.err(message("", prefix + error.text));
  io.err(command.empty() ? "See: vfsmend help\n" : fmt::format("See: vfsmend help {}\n", command));
  return exit_status::kUsage;
}

int unknown_command(const Io& io, std::string_view word) {
  std::vector<std::string> known = {"help"};
  for (const CommandSpec& command : all_commands()) known.emplace_back(command.name);
  const bool option = word.starts_with('-');
  const std::string text =
      option ? fmt::format("{}: the command comes first, then its options", printable(word))
             : fmt::format("\"{}\" is no command{}", printable(word), did_you_mean(word, known));
  return usage_error(io, "", Error{ErrorCode::kUsage, 0, text});
}

int help(const Io& io, std::span<const std::string> words) {
  if (words.empty()) return say(io, general_help());
  const CommandSpec* command = command_named(words[0]);
  if (command == nullptr) return unknown_command(io, words[0]);
  return say(io, command_help(*command, text_width(io, false)));
}

Result<int> run(const CommandSpec& command, std::span<const std::string> words, const Io& io) {
  VFSMEND_TRY_ASSIGN(const Parsed parsed, parse_options(command, words));
  if (parsed.has("help")) return say(io, command_help(command, text_width(io, false)));
  switch (command.bit) {
    case kCheckCommand: return cmd_check(parsed, io);
    case kInspectCommand: return cmd_inspect(parsed, io);
    case kRehearseCommand: return cmd_rehearse(parsed, io);
    case kCaptureCommand: return cmd_capture(parsed, io);
    case kRepairCommand: return cmd_repair(parsed, io);
    case kUndoCommand: return cmd_undo(parsed, io);
    case kNodemapCommand: return cmd_nodemap(parsed, io);
    case kExplainCommand: return cmd_explain(parsed, io);
  }
  return exit_status::kUsage;
}

}  // namespace

int tool_main(int argc, const char* const* argv, const Io& io) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (words.empty()) {
    io.err(general_help());
    return exit_status::kUsage;
  }
  const std::string& first = words[0];
  const std::span<const std::string> rest = std::span(words).subspan(1);
  if (first == "--version" || first == "-V") return say(io, fmt::format("{}\n", tool_name()));
  if (first == "--help" || first == "-h" || first == "help") return help(io, rest);
  const CommandSpec* command = command_named(first);
  if (command == nullptr) return unknown_command(io, first);
  const Result<int> status = run(*command, rest, io);
  return status ? *status : usage_error(io, command->name, status.error());
}

}  // namespace vfsmend
