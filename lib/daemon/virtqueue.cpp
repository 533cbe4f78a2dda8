// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtqueue.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>

#include "base/check.h"

namespace vfsmend::daemon {
namespace {

// Each part of the queue has a page of its own.
constexpr std::size_t kPage = 4096;
constexpr std::size_t kBuffers = 4 * kPage;

}  // namespace

Result<Virtqueue> Virtqueue::make(sys::SharedMemory& memory, std::size_t offset) {
  VFSMEND_CHECK(offset % kPage == 0 && offset + kMemory <= memory.size());
  VFSMEND_TRY_ASSIGN(auto kick, sys::event_fd());
  VFSMEND_TRY_ASSIGN(auto call, sys::event_fd());
  return Virtqueue(memory.data() + offset, offset, std::move(kick), std::move(call));
}

Virtqueue::Virtqueue(std::uint8_t* base, std::uint64_t guest_address, sys::UniqueFd kick,
                     sys::UniqueFd call)
    : desc_(reinterpret_cast<vring_desc*>(base)),
      avail_(reinterpret_cast<vring_avail*>(base + kPage)),
      used_(reinterpret_cast<vring_used*>(base + 2 * kPage)),
      out_(base + kBuffers),
      in_(out_ + kBuffer),
      out_address_(guest_address + kBuffers),
      in_address_(out_address_ + kBuffer),
      kick_(std::move(kick)),
      call_(std::move(call)) {}

Result<Bytes> Virtqueue::exchange(Bytes request, std::size_t capacity, sys::Deadline answer_by) {
  if (request.size() > kBuffer || capacity > kBuffer) {
    return fail(ErrorCode::kLimit, fmt::format("a request of {} bytes and an answer of {} are over "
                                               "{}", request.size(), capacity, kBuffer));
  }
  std::memcpy(out_, request.data(), request.size());
  desc_[0] = {out_address_, static_cast<std::uint32_t>(request.size()), 0, 0};
  if (capacity > 0) {
    desc_[0].flags = VRING_DESC_F_NEXT;
    desc_[0].next = 1;
    desc_[1] = {in_address_, static_cast<std::uint32_t>(capacity), VRING_DESC_F_WRITE, 0};
  }
  publish(0);
  VFSMEND_TRY_ASSIGN(const std::uint32_t written, await_used(answer_by));
  if (written > capacity) {
    return fail(ErrorCode::kFormat, fmt::format("the device says it wrote {} bytes where {} fit",
                                                written, capacity));
  }
  return Bytes(in_, written);
}

void Virtqueue::publish(std::uint16_t head) {
  std::atomic_ref<std::uint16_t> index(avail_->idx);
  const std::uint16_t now = index.load(std::memory_order_relaxed);
  avail_->ring[now % kSize] = head;
  index.store(static_cast<std::uint16_t>(now + 1), std::memory_order_release);
  sys::signal_event(kick_.get());
}

Result<std::uint32_t> Virtqueue::await_used(sys::Deadline answer_by) {
  std::atomic_ref<std::uint16_t> index(used_->idx);
  while (index.load(std::memory_order_acquire) == seen_) {
    // Also where it signals for ever and answers nothing.
    if (answer_by.passed()) return fail(ErrorCode::kTimeout, "the device has not answered in time");
    static_cast<void>(sys::await_event(call_.get(), answer_by));
  }
  const vring_used_elem& element = used_->ring[seen_ % kSize];
  if (element.id != 0) {
    return fail(ErrorCode::kFormat, fmt::format("the device answers a request {} that was not made",
                                                element.id));
  }
  ++seen_;
  return element.len;
}

}  // namespace vfsmend::daemon
