// SPDX-License-Identifier: Apache-2.0
// A Report for people: what will happen, why, and what to do, on one screen where the case is an
// ordinary one. The line before the last is always "verdict: .. (exit N)", the last one "next: ..".
#pragma once

#include <string>

#include "report/paint.h"
#include "verdict/report.h"

namespace vfsmend {

[[nodiscard]] std::string report_text(const Report& report, int exit_code, const TextStyle& style);

}  // namespace vfsmend
