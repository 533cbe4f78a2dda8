// SPDX-License-Identifier: Apache-2.0
#include "shrink.h"

#include <algorithm>

namespace vfsmend::differential {
namespace {

template <typename T>
std::vector<T> without(const std::vector<T>& all, std::size_t begin, std::size_t count) {
  std::vector<T> rest(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(begin));
  const std::size_t end = std::min(begin + count, all.size());
  rest.insert(rest.end(), all.begin() + static_cast<std::ptrdiff_t>(end), all.end());
  return rest;
}

// The save has to stay: what stands before it is the guest's, what stands behind it is not.
bool has_save(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const Step& step) { return step.kind == Kind::kSave; });
}

template <typename T>
bool leave_out(Plan& plan, std::vector<T> Plan::*part, std::size_t count,
               const std::function<bool(const Plan&)>& still_bad) {
  bool less = false;
  for (std::size_t begin = 0; begin < (plan.*part).size();) {
    Plan smaller = plan;
    smaller.*part = without(plan.*part, begin, count);
    if (has_save(smaller) && still_bad(smaller)) {
      plan = std::move(smaller);
      less = true;
    } else {
      begin += count;
    }
  }
  return less;
}

}  // namespace

Plan shrunk(Plan plan, const std::function<bool(const Plan&)>& still_bad) {
  for (bool less = true; less;) {
    less = false;
    for (std::size_t count = std::max<std::size_t>(plan.steps.size() / 2, 1); count > 0; count /= 2) {
      less = leave_out(plan, &Plan::steps, count, still_bad) || less;
    }
    less = leave_out(plan, &Plan::load_words, 1, still_bad) || less;
    less = leave_out(plan, &Plan::save_words, 1, still_bad) || less;
  }
  return plan;
}

}  // namespace vfsmend::differential
