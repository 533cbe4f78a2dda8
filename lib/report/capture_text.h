// SPDX-License-Identifier: Apache-2.0
// What a capture recorded, for people.
#pragma once

#include <string>

#include "report/paint.h"
#include "verdict/report.h"

namespace vfsmend {

[[nodiscard]] std::string capture_text(const Report& report, const TextStyle& style);

}  // namespace vfsmend
