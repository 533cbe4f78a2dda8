// SPDX-License-Identifier: Apache-2.0
#include "verdict/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace vfsmend {
namespace {

constexpr std::array<std::pair<std::string_view, PolicyAction>, 4> kActions = {{
    {"ignore", PolicyAction::kIgnore},
    {"warn", PolicyAction::kWarn},
    {"must-match", PolicyAction::kMustMatch},
    {"append-ok", PolicyAction::kAppendOk},
}};

tl::unexpected<Error> usage(std::string text) { return fail(ErrorCode::kUsage, std::move(text)); }

bool may_be_decided(Code code) {
  const std::string_view id = info(code).id;
  constexpr std::string_view kSubsystems = "IMCGTL";
  return kSubsystems.find(id[0]) != std::string_view::npos || id == "R002" || id == "R003";
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

bool is_between(char first, char c, char last) {
  const auto byte = [](char x) { return static_cast<unsigned char>(x); };
  return byte(first) <= byte(c) && byte(c) <= byte(last);
}

// One element of a glob at `at`, which is moved behind it: does it take `c`? `last_end`: the last `]`
// of the glob, so that sets without an end are not searched for one, each time.
bool takes(std::string_view glob, std::size_t last_end, std::size_t& at, char c) {
  const char g = glob[at++];
  if (g == '?') return true;
  if (g == '\\' && at < glob.size()) return glob[at++] == c;
  const bool closed = g == '[' && last_end != std::string_view::npos && at < last_end;
  const std::size_t end = closed ? glob.find(']', at + 1) : std::string_view::npos;
  if (end == std::string_view::npos) return g == c;
  const bool inverted = glob[at] == '!' || glob[at] == '^';
  bool found = false;
  for (std::size_t i = at + (inverted ? 1 : 0); i < end; ++i) {
    const bool range = i + 2 < end && glob[i + 1] == '-';
    found |= range ? is_between(glob[i], c, glob[i + 2]) : c == glob[i];
    if (range) i += 2;
  }
  at = end + 1;
  return found != inverted;
}

}  // namespace

// Only the last star has to be tried again: what earlier ones took need not be changed.
bool glob_matches(std::string_view glob, std::string_view text) {
  std::size_t g = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  const std::size_t last_end = glob.rfind(']');
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = ++g;
      star_text = t;
      continue;
    }
    std::size_t next = g;
    if (g < glob.size() && takes(glob, last_end, next, text[t])) {
      g = next;
      ++t;
      continue;
    }
    if (star == std::string_view::npos) return false;
    g = star;
    t = ++star_text;
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

Result<Policy::Rule> Policy::parse_rule(std::string_view line) {
  const std::size_t first = line.find_first_of(" \t");
  const std::size_t last = line.find_last_of(" \t");
  const std::string_view glob =
      first == last ? std::string_view() : trimmed(line.substr(first, last - first));
  if (first == std::string_view::npos || glob.empty()) {
    return usage("is not CODE GLOB ACTION, as in \"C001 logs/*.log append-ok\"");
  }
  Rule rule;
  const std::string_view code = line.substr(0, first);
  const std::string_view word = line.substr(last + 1);
  if (code != "*") {
    rule.code = code_named(code);
    if (!rule.code) return usage(fmt::format("\"{}\" is no code", printable(code)));
    if (!may_be_decided(*rule.code)) {
      return usage(fmt::format("{} decides whether the restore works at all: no policy changes that",
                               info(*rule.code).id));
    }
  }
  // Paths have no slash at their beginning: with one, the rule would fit nothing and nobody would notice.
  rule.glob = glob.substr(std::min(glob.find_first_not_of('/'), glob.size()));
  for (const auto& [name, action] : kActions) {
    if (name != word) continue;
    rule.action = action;
    if (action == PolicyAction::kAppendOk && rule.code != Code::kC001) {
      return usage("append-ok is for C001 alone");
    }
    return rule;
  }
  return usage(fmt::format("\"{}\" is none of ignore, warn, must-match, append-ok", printable(word)));
}

Result<Policy> Policy::parse(std::string_view text) {
  Policy policy;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    Result<Rule> rule = parse_rule(line);
    if (!rule) return tl::make_unexpected(std::move(rule).error().context(fmt::format("line {}", number)));
    policy.rules_.push_back(*std::move(rule));
  }
  return policy;
}

std::optional<PolicyAction> Policy::action(Code code, std::string_view path) const {
  if (!may_be_decided(code)) return std::nullopt;
  for (const Rule& rule : rules_) {
    if (rule.action == PolicyAction::kAppendOk && code != Code::kC001) continue;
    if ((!rule.code || *rule.code == code) && glob_matches(rule.glob, path)) return rule.action;
  }
  return std::nullopt;
}

}  // namespace vfsmend
