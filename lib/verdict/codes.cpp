// SPDX-License-Identifier: Apache-2.0
#include "verdict/codes.h"

#include <algorithm>
#include <array>

namespace vfsmend {
namespace {

constexpr std::array kCodes = {
#define VFSMEND_CODE(ID, NAME, SEVERITY, EVIDENCE, VERDICT, REPAIR, COMMANDS, ABOUT)          \
  CodeInfo{Code::k##ID, #ID, NAME, Severity::SEVERITY, EVIDENCE, VERDICT, REPAIR, COMMANDS, \
           ABOUT},
#include "verdict/codes.def"
#undef VFSMEND_CODE
};

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

std::span<const CodeInfo> all_codes() { return kCodes; }

const CodeInfo& info(Code code) { return kCodes[static_cast<std::size_t>(code)]; }

std::optional<Code> code_named(std::string_view id) {
  for (const CodeInfo& entry : kCodes) {
    if (std::equal(id.begin(), id.end(), entry.id.begin(), entry.id.end(),
                   [](char a, char b) { return upper(a) == b; })) {
      return entry.code;
    }
  }
  return std::nullopt;
}

}  // namespace vfsmend
