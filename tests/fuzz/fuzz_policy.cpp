// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "base/check.h"
#include "targets.h"
#include "verdict/policy.h"

namespace vfsmend::fuzz {
namespace {

bool may_decide(Code code) {
  const std::string_view id = info(code).id;
  return std::string_view("IMCGTL").find(id[0]) != std::string_view::npos || id == "R002" || id == "R003";
}

}  // namespace

void fuzz_policy(Bytes input) {
  const std::string_view text = as_text(input);
  const std::size_t cut = std::min(text.find('\0'), text.size());
  const std::string_view path = text.substr(std::min(cut + 1, text.size()));
  const auto policy = Policy::parse(text.substr(0, cut));
  if (!policy) {
    VFSMEND_CHECK(policy.error().code == ErrorCode::kUsage);
    VFSMEND_CHECK(policy.error().text.starts_with("line "));
    return;
  }
  // No policy decides what it must not, and none that is empty decides anything.
  for (const CodeInfo& code : all_codes()) {
    const auto action = policy->action(code.code, path);
    VFSMEND_CHECK(!action || (may_decide(code.code) && !policy->empty()));
    VFSMEND_CHECK(action != PolicyAction::kAppendOk || code.code == Code::kC001);
  }
  // What a glob takes, it takes behind a star too.
  if (glob_matches(path, text)) VFSMEND_CHECK(glob_matches("*" + std::string(path), text));
  VFSMEND_CHECK(glob_matches(path.empty() ? "" : "*", path));
}

}  // namespace vfsmend::fuzz
