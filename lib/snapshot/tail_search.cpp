// SPDX-License-Identifier: Apache-2.0
#include "snapshot/tail_search.h"

#include <algorithm>

namespace vfsmend {
namespace {

constexpr std::uint64_t kLargestWindow = std::uint64_t{4} << 20;

}  // namespace

Result<std::optional<std::uint64_t>> TailSearch::next() {
  while (found_.empty() && end_ >= floor_ + needle_.size()) VFSMEND_TRY(read_window());
  if (found_.empty()) return std::optional<std::uint64_t>();
  const std::uint64_t at = found_.back();
  found_.pop_back();
  return std::optional(at);
}

void TailSearch::go_on_below(std::uint64_t end, std::uint64_t floor) {
  floor_ = floor;
  while (!found_.empty() && found_.back() + needle_.size() > end) found_.pop_back();
  end_ = std::min(end_, end);
}

// Windows overlap by a needle less one byte, so that none is cut in two.
Result<void> TailSearch::read_window() {
  const std::uint64_t begin = end_ - floor_ > window_ ? end_ - window_ : floor_;
  VFSMEND_TRY_ASSIGN(const ByteVector bytes, read_part(source_, begin, end_ - begin));
  const std::string_view text = as_text(bytes);
  for (std::size_t at = text.find(needle_); at != text.npos; at = text.find(needle_, at + 1)) {
    found_.push_back(begin + at);
  }
  end_ = begin == floor_ ? floor_ : begin + needle_.size() - 1;
  window_ = std::min(window_ * 2, kLargestWindow);
  return {};
}

}  // namespace vfsmend
