// SPDX-License-Identifier: Apache-2.0
// The failure classes: a letter for the subsystem and three digits, never reused or renumbered.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace vfsmend {

enum class Code {
#define VFSMEND_CODE(ID, NAME, SEVERITY, EVIDENCE, VERDICT, REPAIR, COMMANDS, ABOUT) k##ID,
#include "verdict/codes.def"
#undef VFSMEND_CODE
};

// What it does to the guest: kCorruption is wrong bytes or wider access without an error,
// kFailure a failed restore or errors in the guest, kWarning neither.
enum class Severity : char { kCorruption = 'C', kFailure = 'F', kWarning = 'W' };

struct CodeInfo {
  Code code;
  std::string_view id;        // "S001"
  std::string_view name;      // a line
  Severity severity;
  std::string_view evidence;  // where it is seen
  std::string_view verdict;   // the default verdict, in words
  std::string_view repair;    // what can be done automatically, in words
  std::string_view commands;  // who emits it
  std::string_view about;     // a paragraph: what happened, what the guest sees, what to do
};

[[nodiscard]] std::span<const CodeInfo> all_codes();
[[nodiscard]] const CodeInfo& info(Code code);
[[nodiscard]] std::optional<Code> code_named(std::string_view id);  // "S001" or "s001"

}  // namespace vfsmend
