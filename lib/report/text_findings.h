// SPDX-License-Identifier: Apache-2.0
// Findings for people: grouped by code, a handful of subjects a group, and what they have in
// common told once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/paint.h"
#include "verdict/finding.h"

namespace vfsmend {

// Keeps the order of `findings`, which is worst first. `counts` has how many of a code there are,
// also where `findings` was cut.
[[nodiscard]] std::string findings_text(const std::vector<Finding>& findings,
                                        const std::map<std::string, std::uint64_t>& counts,
                                        const TextStyle& style);

}  // namespace vfsmend
