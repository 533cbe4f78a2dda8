// SPDX-License-Identifier: Apache-2.0
// "did you mean": the known word that is nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vfsmend {

// "", or `; did you mean "check"?`: with the word that begins or ends like `word`, or else the
// one that is at most a third of its letters away. `prefix` is put before it.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> known,
                                       std::string_view prefix = "");

}  // namespace vfsmend
