// SPDX-License-Identifier: Apache-2.0
// What a deployment thinks of differences to its captures: a file of lines
//
//   CODE GLOB ACTION      C001 logs/*.log append-ok
//
// of which the first that fits a finding decides. CODE: one of I, M, R002, R003, C, G, T, L, or `*`
// for all of these. GLOB: of the path below the share; `*` is any bytes, slashes included, `?` one
// byte, `[a-z]` one of a set, `\` takes the next byte as it is; slashes at its beginning stand for the
// share. ACTION: see below. Empty lines and lines that begin with `#` are nothing. What fails the load
// itself is no matter of taste: S, P, H, O, E codes, R001, R004 and R005 cannot be named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verdict/codes.h"

namespace vfsmend {

enum class PolicyAction : std::uint8_t {
  kIgnore,     // "ignore": no finding
  kWarn,       // "warn": a finding, and resume
  kMustMatch,  // "must-match": rebuild, and contents are compared even where nothing moved
  kAppendOk,   // "append-ok" (C001): resume where only bytes were appended
};

class Policy {
 public:
  // kUsage, with the line: what it does not understand.
  [[nodiscard]] static Result<Policy> parse(std::string_view text);

  // What the first rule for `code` and `path` says.
  [[nodiscard]] std::optional<PolicyAction> action(Code code, std::string_view path) const;
  [[nodiscard]] bool empty() const { return rules_.empty(); }

 private:
  struct Rule {
    std::optional<Code> code;  // nothing: all that a policy may decide about
    std::string glob;
    PolicyAction action{};
  };
  static Result<Rule> parse_rule(std::string_view line);

  std::vector<Rule> rules_;
};

// In time that grows with pattern times text, whatever the pattern.
[[nodiscard]] bool glob_matches(std::string_view glob, std::string_view text);

}  // namespace vfsmend
