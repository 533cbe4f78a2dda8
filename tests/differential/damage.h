// SPDX-License-Identifier: Apache-2.0
// Damage to a state: what writers, truncation, bit rot and other tools may leave behind.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "plan.h"

namespace vfsmend::differential {

[[nodiscard]] std::span<const std::string_view> all_damages();

// The state with the damage of `steps` (kDamage) put in, one after the other. Damage that finds
// nothing to act on leaves it as it is.
[[nodiscard]] ByteVector damaged(Bytes state, std::span<const Step> steps);

}  // namespace vfsmend::differential
