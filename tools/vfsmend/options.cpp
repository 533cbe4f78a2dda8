// SPDX-License-Identifier: Apache-2.0
// Boost.Program_options does the syntax. What is repeated, and what contradicts what, is ours: its
// own check refuses a flag that stands twice.
#include "vfsmend/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "base/check.h"
#include "base/text.h"
#include "report/layout.h"
#include "vfsmend/suggest.h"

namespace vfsmend {
namespace {

namespace po = boost::program_options;

// Boost lets an option whose value may be left out take the next word, which would be the snapshot.
// So it is a flag for Boost, and --name=VALUE is another option (Boost asks the extra parser about
// each word where an option may stand).
constexpr std::string_view kWithValue = ":value";

po::options_description describe(const CommandSpec& command) {
  po::options_description all;
  for (const OptionSpec* spec : options_of(command)) {
    const std::string name(spec->name);
    const bool value = spec->takes == Takes::kOne || spec->takes == Takes::kMany;
    const std::string names = spec->letter == '\0' ? name : fmt::format("{},{}", name, spec->letter);
    auto semantic = [value]() -> po::value_semantic* {  // owned by the description
      if (value) return po::value<std::string>();
      return new po::untyped_value(true);
    };
    all.add_options()(names.c_str(), semantic(), "");
    if (spec->takes == Takes::kMaybeOne) {
      all.add_options()((name + std::string(kWithValue)).c_str(), po::value<std::string>(), "");
    }
  }
  return all;
}

std::pair<std::string, std::string> split_maybe_one(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (!word.starts_with("--") || equals == std::string::npos) return {};
  const std::string name = word.substr(2, equals - 2);
  for (const OptionSpec& spec : all_options()) {
    if (spec.takes != Takes::kMaybeOne || spec.name != name) continue;
    return {name + std::string(kWithValue), word.substr(equals + 1)};
  }
  return {};
}

tl::unexpected<Error> unknown_option(const CommandSpec& command, std::string_view token) {
  std::vector<std::string> known;
  for (const OptionSpec* spec : options_of(command)) known.emplace_back(spec->name);
  const std::string_view dashes = token.substr(0, token.find_first_not_of('-'));
  const std::string_view name = token.substr(dashes.size(), token.find('=') - dashes.size());
  if (spec_named(name) != nullptr) {
    return fail(ErrorCode::kUsage, fmt::format("--{}: not an option of {}", name, command.name));
  }
  return fail(ErrorCode::kUsage, fmt::format("{}{}: no such option{}", dashes, printable(name),
                                             did_you_mean(name, known, "--")));
}

// `--shared-dir --writeback`: a word that is an option is not taken for a value. --share=--x is.
bool value_forgotten(const po::option& option) {
  if (option.value.empty() || option.original_tokens.size() < 2) return false;
  const std::string_view value = option.value.front();
  return value.starts_with("--") && spec_named(value.substr(2, value.find('=') - 2)) != nullptr &&
         option.string_key != "daemon-args";
}

const OptionSpec& spec_of(const CommandSpec& command, std::string_view name) {
  const auto specs = options_of(command);
  const auto at = std::ranges::find(specs, name, &OptionSpec::name);
  VFSMEND_CHECK(at != specs.end());
  return **at;
}

Result<void> add_option(const CommandSpec& command, Parsed& parsed, const po::option& option) {
  const std::string value = option.value.empty() ? "" : option.value.front();
  const OptionSpec& spec = spec_of(command, option.string_key.substr(0, option.string_key.find(':')));
  if (value_forgotten(option)) {
    return fail(ErrorCode::kUsage,
                fmt::format("--{}: its value {} is missing", spec.name, spec.value));
  }
  if (spec.takes == Takes::kOne && parsed.has(spec.name) &&
      parsed.value(spec.name, "") != value) {
    return fail(ErrorCode::kUsage, fmt::format("--{}: given as \"{}\" and as \"{}\": give one",
                                               spec.name, printable(parsed.value(spec.name, "")),
                                               printable(value)));
  }
  parsed.options.emplace_back(spec.name, value);
  return {};
}

Result<Parsed> collect(const CommandSpec& command, const std::vector<po::option>& options) {
  Parsed parsed;
  for (const po::option& option : options) {
    if (option.string_key.empty()) {
      parsed.operands.insert(parsed.operands.end(), option.value.begin(), option.value.end());
    } else {
      VFSMEND_TRY(add_option(command, parsed, option));
    }
  }
  return parsed;
}

std::string option_label(const OptionSpec& spec) {
  std::string label = fmt::format("--{}", spec.name);
  if (spec.letter != '\0') label = fmt::format("-{}, {}", spec.letter, label);
  if (spec.takes == Takes::kMaybeOne) return fmt::format("{}[={}]", label, spec.value);
  return spec.value.empty() ? label : fmt::format("{} {}", label, spec.value);
}

}  // namespace

bool Parsed::has(std::string_view name) const {
  return std::any_of(options.begin(), options.end(),
                     [&](const auto& option) { return option.first == name; });
}

std::string_view Parsed::value(std::string_view name, std::string_view otherwise) const {
  for (auto it = options.rbegin(); it != options.rend(); ++it) {
    if (it->first == name) return it->second;
  }
  return otherwise;
}

const OptionSpec* spec_named(std::string_view name) {
  for (const OptionSpec& spec : all_options()) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

const CommandSpec* command_named(std::string_view name) {
  for (const CommandSpec& command : all_commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::vector<const OptionSpec*> options_of(const CommandSpec& command) {
  std::vector<const OptionSpec*> found;
  for (const OptionSpec& spec : all_options()) {
    if ((spec.commands & command.bit) != 0) found.push_back(&spec);
  }
  return found;
}

Result<Parsed> parse_options(const CommandSpec& command, std::span<const std::string> args) {
  using Style = po::command_line_style::style_t;
  constexpr int kStyle = Style::allow_long | Style::long_allow_adjacent | Style::long_allow_next |
                         Style::allow_short | Style::allow_dash_for_short |
                         Style::short_allow_next;
  const po::options_description known = describe(command);
  try {
    po::command_line_parser parser(std::vector<std::string>(args.begin(), args.end()));
    return collect(
        command, parser.options(known).style(kStyle).extra_parser(split_maybe_one).run().options);
  } catch (const po::unknown_option& error) {
    return unknown_option(command, error.get_option_name());
  } catch (const po::error& error) {
    return fail(ErrorCode::kUsage, printable(error.what()));
  }
}

std::string command_help(const CommandSpec& command, unsigned width) {
  constexpr std::size_t kTextColumn = 29;
  std::string out = fmt::format("Usage: vfsmend {} [OPTION..] {}\n\n{}\n", command.name,
                                command.operands, wrap(command.about, width, 0));
  std::string_view group;
  for (const OptionSpec* spec : options_of(command)) {
    if (spec->group != group) out += fmt::format("\n{}:\n", spec->group);
    group = spec->group;
    out += definition(option_label(*spec), spec->help, width, 2, kTextColumn);
  }
  return out;
}

std::string general_help() {
  std::string out =
      "Usage: vfsmend COMMAND [OPTION..] [ARGUMENT..]\n\n"
      "Says, before a sandbox is resumed, whether its virtio-fs snapshot will restore.\n\n";
  for (const CommandSpec& command : all_commands()) {
    out += fmt::format("  {:<9} {}\n", command.name, command.summary);
  }
  return out +
         "  help      this text, or the help of a command: vfsmend help check\n\n"
         "  --version version of the program\n";
}

}  // namespace vfsmend
