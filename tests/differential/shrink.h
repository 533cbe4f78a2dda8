// SPDX-License-Identifier: Apache-2.0
// A smaller plan that still disagrees.
#pragma once

#include <functional>

#include "plan.h"

namespace vfsmend::differential {

// `still_bad` plays a plan. Steps are left out in halves, quarters, .. one by one, then switches,
// until nothing more can be left out.
[[nodiscard]] Plan shrunk(Plan plan, const std::function<bool(const Plan&)>& still_bad);

}  // namespace vfsmend::differential
