// SPDX-License-Identifier: Apache-2.0
// A Report for programs: vfsmend.report/1. docs/report.schema.json describes it; members are only
// ever added, and a reader has to pass over those that it does not know.
#pragma once

#include <string>
#include <string_view>

#include "verdict/report.h"

namespace vfsmend {

// "vfsmend 0.1.0", as --version prints it and documents bear it.
[[nodiscard]] std::string_view tool_name();

// One document on one line.
[[nodiscard]] std::string report_json(const Report& report, int exit_code);

// One object a line, for logs and for readers that do not want to hold a large report: first
// {"schema":..,"line":"report",..}, then a line of {"line":"finding","device":..} for each finding
// ("device" is null for one of the snapshot as a whole), at last {"line":"summary",..} with the
// verdict, the counts and the devices without their findings.
[[nodiscard]] std::string report_jsonl(const Report& report, int exit_code);

}  // namespace vfsmend
