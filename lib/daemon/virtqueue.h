// SPDX-License-Identifier: Apache-2.0
// One split virtqueue, driven as a guest drives it: one request at a time, its buffers in the same
// memory. The layout is virtio 1.2, section 2.7; addresses in descriptors are offsets into the
// memory (guest-physical), as the one region of it begins at 0.
#pragma once

#define VIRTIO_RING_NO_LEGACY  // its helpers are C only
#include <linux/virtio_ring.h>

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "sys/deadline.h"
#include "sys/shared_memory.h"

namespace vfsmend::daemon {

class Virtqueue {
 public:
  static constexpr std::uint16_t kSize = 16;         // descriptors; a power of two
  static constexpr std::size_t kBuffer = 128U << 10;  // bytes, for each direction
  static constexpr std::size_t kMemory = (16U << 10) + 2 * kBuffer;

  // Takes kMemory bytes of `memory` from `offset` (a multiple of 4096).
  [[nodiscard]] static Result<Virtqueue> make(sys::SharedMemory& memory, std::size_t offset);

  // Sends `request`; the device answers with at most `capacity` bytes (0: it is not asked for any,
  // as with FORGET). The answer is valid until the next call. kTimeout; kFormat where the device
  // says that it wrote more than it could or answers what was not asked; kLimit: over kBuffer.
  [[nodiscard]] Result<Bytes> exchange(Bytes request, std::size_t capacity, sys::Deadline answer_by);

  [[nodiscard]] int kick() const { return kick_.get(); }
  [[nodiscard]] int call() const { return call_.get(); }
  [[nodiscard]] std::uint64_t descriptors() const { return address(desc_); }
  [[nodiscard]] std::uint64_t available() const { return address(avail_); }
  [[nodiscard]] std::uint64_t used() const { return address(used_); }

 private:
  Virtqueue(std::uint8_t* base, std::uint64_t guest_address, sys::UniqueFd kick, sys::UniqueFd call);

  [[nodiscard]] static std::uint64_t address(const void* at) {
    return reinterpret_cast<std::uintptr_t>(at);  // of ours: the back-end translates it
  }
  void publish(std::uint16_t head);
  [[nodiscard]] Result<std::uint32_t> await_used(sys::Deadline answer_by);

  vring_desc* desc_;
  vring_avail* avail_;
  vring_used* used_;
  std::uint8_t* out_;
  std::uint8_t* in_;
  std::uint64_t out_address_;
  std::uint64_t in_address_;
  sys::UniqueFd kick_;
  sys::UniqueFd call_;
  std::uint16_t seen_ = 0;  // of the used ring's index
};

}  // namespace vfsmend::daemon
