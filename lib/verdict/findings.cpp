// SPDX-License-Identifier: Apache-2.0
#include "verdict/findings.h"

#include <algorithm>
#include <tuple>

namespace vfsmend {
namespace {

int weight(Severity severity) {
  switch (severity) {
    case Severity::kCorruption: return 0;
    case Severity::kFailure: return 1;
    case Severity::kWarning: return 2;
  }
  return 3;
}

auto order_of(const Finding& f) {
  return std::tuple(weight(info(f.code).severity), f.code, f.inode.value_or(0),
                    f.handle.value_or(0));
}

}  // namespace

void FindingCollector::add_counts(std::map<std::string, std::uint64_t>& counts) const {
  for (const CodeInfo& code : all_codes()) {
    const std::uint64_t n = counts_[static_cast<std::size_t>(code.code)];
    if (n != 0) counts[std::string(code.id)] += n;
  }
}

std::vector<Finding> FindingCollector::take() {
  std::vector<Finding> out;
  for (auto bucket = kept_.rbegin(); bucket != kept_.rend(); ++bucket) {
    std::ranges::stable_sort(*bucket, {}, order_of);
    for (Finding& finding : *bucket) {
      if (out.size() == limit_) return out;
      out.push_back(std::move(finding));
    }
  }
  return out;
}

}  // namespace vfsmend
