// SPDX-License-Identifier: Apache-2.0
#include "sys/arena.h"

#include <cstring>

#include "sys/heap.h"
#include "sys/short_lock.h"

namespace vfsmend::sys {
namespace {

constexpr std::size_t kFirst = std::size_t{64} << 10;
constexpr std::size_t kLater = std::size_t{256} << 10;
constexpr std::size_t kAlign = alignof(std::max_align_t);

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

std::string_view Arena::keep(std::string_view text) {
  if (text.empty()) return {};
  auto* copy = static_cast<char*>(take(text.size()));
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

void* Arena::take(std::size_t bytes) {
  bytes = round_up(bytes, kAlign);
  const auto lock = lock_soon(mutex_);
  if (bytes > left_) {
    const bool first = blocks_.empty() && bytes <= kFirst;
    left_ = first ? kFirst : round_up(bytes, kLater);
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(left_));
    next_ = blocks_.back().get();
    fetch_pages(next_, left_);
  }
  void* const taken = next_;
  next_ += bytes;
  left_ -= bytes;
  return taken;
}

}  // namespace vfsmend::sys
