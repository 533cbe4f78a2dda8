// SPDX-License-Identifier: Apache-2.0
// Collects findings in bounded memory: every one is counted, and of each verdict only the first
// `limit` are made and kept. A state of a million lost inodes must not cost a million texts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "verdict/finding.h"

namespace vfsmend {

class FindingCollector {
 public:
  explicit FindingCollector(std::size_t limit) : limit_(limit) {}

  // Counts one, and calls `make` for the finding only if it will be kept.
  template <typename Make>
  void add(Code code, Verdict verdict, Make make) {
    ++counts_[static_cast<std::size_t>(code)];
    verdict_ = worst(verdict_, verdict);
    auto& kept = kept_[static_cast<std::size_t>(verdict)];
    if (kept.size() < limit_) kept.push_back(make());
  }

  [[nodiscard]] Verdict verdict() const { return verdict_; }
  [[nodiscard]] bool has(Code code) const { return counts_[static_cast<std::size_t>(code)] != 0; }
  void add_counts(std::map<std::string, std::uint64_t>& counts) const;
  // Worst first: by verdict, severity, code, inode; at most `limit`.
  [[nodiscard]] std::vector<Finding> take();

 private:
  static constexpr std::size_t kCodes = 64;
  std::size_t limit_;
  Verdict verdict_ = Verdict::kResume;
  std::array<std::uint64_t, kCodes> counts_{};
  std::array<std::vector<Finding>, 5> kept_;  // by verdict
};

}  // namespace vfsmend
