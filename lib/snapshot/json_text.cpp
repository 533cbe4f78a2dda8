// SPDX-License-Identifier: Apache-2.0
#include "snapshot/json_text.h"

namespace vfsmend {
namespace {

// Small enough to stay in a processor's cache between the read and the parser.
constexpr std::uint64_t kWindowSize = std::uint64_t{256} << 10;
// A little of what lies before, for the steps back that a parser makes.
constexpr std::uint64_t kStepBack = std::uint64_t{8} << 10;

}  // namespace

void JsonText::load(std::uint64_t at) {
  if (error_ || at >= source_.size()) return window_.clear();
  begin_ = at - std::min(at, kStepBack);
  window_.resize(std::min(kWindowSize, source_.size() - begin_));
  auto read = source_.read(begin_, window_);
  if (read) return;
  error_ = std::move(read).error();
  window_.clear();
}

}  // namespace vfsmend
