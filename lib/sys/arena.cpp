// SPDX-License-Identifier: Apache-2.0
#include "sys/arena.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace vfsmend::sys {
namespace {

constexpr std::size_t kFirst = std::size_t{64} << 10;
constexpr std::size_t kHuge = std::size_t{2} << 20;
constexpr std::size_t kAlign = alignof(std::max_align_t);

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

void Arena::Free::operator()(std::byte* block) const {
  ::operator delete(block, std::align_val_t{kHuge});
}

std::string_view Arena::keep(std::string_view text) {
  if (text.empty()) return {};
  auto* copy = static_cast<char*>(take(text.size()));
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

void* Arena::take(std::size_t bytes) {
  bytes = round_up(bytes, kAlign);
  const std::lock_guard lock(mutex_);
  if (bytes > left_) {
    // The second piece is a huge page already: what needs more than the first is a walk.
    const bool huge = !blocks_.empty() || bytes > kFirst;
    left_ = huge ? round_up(bytes, kHuge) : kFirst;
    next_ = static_cast<std::byte*>(::operator new(left_, std::align_val_t{kHuge}));
    blocks_.emplace_back(next_);
    // Refused where there are none: then the pages come one by one, as they always did.
    if (huge) (void)::madvise(next_, left_, MADV_HUGEPAGE);
  }
  void* const taken = next_;
  next_ += bytes;
  left_ -= bytes;
  return taken;
}

}  // namespace vfsmend::sys
