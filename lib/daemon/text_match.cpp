// SPDX-License-Identifier: Apache-2.0
#include "daemon/text_match.h"

#include <string_view>

namespace vfsmend::daemon {

std::string without_numbers(const std::string& text) {
  constexpr std::string_view kOpen = "{fd:";
  constexpr std::string_view kDigits = "0123456789";
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = text.find(kOpen, at);
    if (found == std::string::npos) return out + text.substr(at);
    const std::size_t number = found + kOpen.size();
    const std::size_t end = std::min(text.find_first_not_of(kDigits, number), text.size());
    out += text.substr(at, number - at);
    if (end > number) out += 'N';
    at = end;
  }
  return out;
}

OpeningText parted(const std::string& text) {
  const std::size_t close = text.rfind(") as handle ");
  const std::size_t open = text.find(" (");
  if (open == std::string::npos || close == std::string::npos || close < open) return {"", text};
  return {text.substr(open + 2, close - open - 2), text.substr(0, open) + text.substr(close + 1)};
}

}  // namespace vfsmend::daemon
