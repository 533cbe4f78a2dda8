// SPDX-License-Identifier: Apache-2.0
// What the rules that need a capture have in common.
#include <algorithm>

#include "verdict/rules.h"

namespace vfsmend {

std::uint32_t Rules::recorded(EntryIndex e) const {
  if (record() == nullptr) return kNoIndex;
  const std::uint32_t position = record()->position(e);
  return position != kNoIndex && record()->is_known(position) ? position : kNoIndex;
}

std::uint16_t Rules::changes(EntryIndex e) const {
  if (record() == nullptr || input_.walk == nullptr || input_.walk->changes.empty()) return 0;
  return input_.walk->changes[e];
}

const Today* Rules::today(EntryIndex e) const {
  const auto& all = input_.walk->today;
  const auto at = std::ranges::lower_bound(all, e, {}, &Today::entry);
  return at != all.end() && at->entry == e ? &*at : nullptr;
}

std::optional<PolicyAction> Rules::policy_for(Code code, const LoaderTexts& texts,
                                              EntryIndex e) const {
  if (input_.options == nullptr || input_.options->policy.empty()) return std::nullopt;
  return input_.options->policy.action(code, texts.name_path(e));
}

bool Rules::must_match(Code code, EntryIndex e) const {
  return policy_for(code, input_.texts, e) == PolicyAction::kMustMatch;
}

}  // namespace vfsmend
