// SPDX-License-Identifier: Apache-2.0
// The table of codes as pages for people.
#pragma once

#include <string>

#include "report/paint.h"
#include "verdict/codes.h"

namespace vfsmend {

[[nodiscard]] std::string explain(Code code, const TextStyle& style);
// One line a code; those that no command of this version emits are marked.
[[nodiscard]] std::string explain_all(const TextStyle& style);

}  // namespace vfsmend
