// SPDX-License-Identifier: Apache-2.0
// The device's side of a virtqueue, and a back-end around two of them: what reads the rings out of
// the shared memory, and answers as a test wants it to.
#pragma once

#include <linux/fuse.h>
#include <sys/mman.h>

#include <atomic>
#include <optional>

#include "daemon/virtqueue.h"
#include "fake_peer.h"

namespace vfsmend::daemon::test {

struct Answer {
  ByteVector bytes;
  std::optional<std::uint32_t> written;  // what the device says; else what it wrote
  std::uint32_t head = 0;                // of the chain that it says it answers
};
// What to make of a request; nothing: never an answer.
using Answering = std::function<std::optional<Answer>(Bytes request, std::size_t capacity)>;

// The rings of one queue, in the device's own mapping of the memory.
struct DeviceRing {
  std::uint8_t* memory = nullptr;  // guest-physical 0
  std::size_t size = 0;
  vring_desc* desc = nullptr;
  vring_avail* avail = nullptr;
  vring_used* used = nullptr;
  int call = -1;
  std::uint16_t taken = 0;

  [[nodiscard]] std::uint8_t* at(std::uint64_t address, std::size_t length) const {
    EXPECT_LE(address + length, size) << "a buffer outside of the memory";
    return memory + address;
  }

  // Answers all that is available.
  void serve(const Answering& answering) {
    std::atomic_ref<std::uint16_t> available(avail->idx);
    while (available.load(std::memory_order_acquire) != taken) {
      const std::uint16_t head = avail->ring[taken % Virtqueue::kSize];
      ++taken;
      const vring_desc& out = desc[head];
      const bool has_in = (out.flags & VRING_DESC_F_NEXT) != 0;
      const std::size_t capacity = has_in ? desc[out.next].len : 0;
      if (has_in) {
        EXPECT_EQ(desc[out.next].flags, VRING_DESC_F_WRITE);
      }
      const auto answer = answering({at(out.addr, out.len), out.len}, capacity);
      if (!answer) continue;
      const std::size_t fits = std::min(answer->bytes.size(), capacity);
      if (fits > 0) std::memcpy(at(desc[out.next].addr, fits), answer->bytes.data(), fits);
      put_used({answer->head, answer->written.value_or(static_cast<std::uint32_t>(fits))});
    }
  }

 private:
  void put_used(const vring_used_elem& element) const {
    std::atomic_ref<std::uint16_t> index(used->idx);
    const std::uint16_t now = index.load(std::memory_order_relaxed);
    used->ring[now % Virtqueue::kSize] = element;
    index.store(static_cast<std::uint16_t>(now + 1), std::memory_order_release);
    sys::signal_event(call);
  }
};

// An answer of a FUSE server to `request`: a header, and a body behind it.
inline Answer fuse_answer(Bytes request, std::int32_t error, Bytes body) {
  fuse_in_header in{};
  std::memcpy(&in, request.data(), std::min(sizeof in, request.size()));
  const fuse_out_header out{static_cast<std::uint32_t>(sizeof(fuse_out_header) + body.size()), error,
                            in.unique};
  ByteVector bytes(raw(out).begin(), raw(out).end());
  bytes.insert(bytes.end(), body.begin(), body.end());
  return {std::move(bytes), std::nullopt, 0};
}

// A back-end with a high-priority queue and one for requests. To be played by a FakePeer; what it
// notes is to be read once that is joined.
class FakeDevice {
 public:
  explicit FakeDevice(Answering answering) : answering_(std::move(answering)) {}
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;
  ~FakeDevice() {
    if (memory_ != nullptr) ::munmap(memory_, size_);
  }

  std::vector<Request> seen;   // the messages, in their order
  std::uint64_t features = 0;  // that were set
  std::array<std::vector<std::uint32_t>, 2> opcodes;  // of FUSE requests, by queue

  void play(PeerEnd& end) {
    for (;;) {
      std::array<pollfd, 3> wait{pollfd{end.socket(), POLLIN, 0},
                                 pollfd{queues_[0].kick.get(), POLLIN, 0},
                                 pollfd{queues_[1].kick.get(), POLLIN, 0}};
      if (::poll(wait.data(), wait.size(), soon().poll_timeout()) <= 0) return;
      for (std::size_t i = 0; i < queues_.size(); ++i) {
        if (wait[i + 1].revents != 0) kicked(i);
      }
      if (wait[0].revents != 0 && !handle(end, end.receive())) return;
    }
  }

 private:
  struct Queue {
    std::uint64_t desc = 0;  // user addresses, as the front-end told them
    std::uint64_t used = 0;
    std::uint64_t avail = 0;
    sys::UniqueFd kick;
    sys::UniqueFd call;
    DeviceRing ring;
  };

  bool handle(PeerEnd& end, Message got) {
    if (got.request == Request{}) return false;  // the front-end is gone
    seen.push_back(got.request);
    Queue& queue = queues_[got.word(0) & 1U];
    switch (got.request) {
      case Request::kGetFeatures: return end.send(reply(got.request, 0x174000000));
      case Request::kSetFeatures: features = number(got, 0); return true;
      case Request::kSetMemTable: return map(got);
      case Request::kSetVringAddr:
        queue.desc = number(got, 1);
        queue.used = number(got, 2);
        queue.avail = number(got, 3);
        return true;
      case Request::kSetVringCall: queue.call = std::move(got.fds.at(0)); return true;
      case Request::kSetVringKick: queue.kick = std::move(got.fds.at(0)); return true;
      case Request::kSetVringEnable: return enable(queue);
      case Request::kGetVringBase:
        return end.send(reply(got.request, raw(std::array{got.word(0), std::uint32_t{5}})));
      default: return true;
    }
  }
  // The `i`-th eight bytes of the payload.
  static std::uint64_t number(const Message& got, std::size_t i) {
    return std::uint64_t{got.word(2 * i + 1)} << 32 | got.word(2 * i);
  }
  bool map(const Message& got) {
    EXPECT_EQ(got.word(0), 1U) << "regions";
    EXPECT_EQ(number(got, 1), 0U) << "guest address";
    size_ = number(got, 2);
    user_ = number(got, 3);
    void* at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, got.fds.at(0).get(), 0);
    EXPECT_NE(at, MAP_FAILED);
    memory_ = static_cast<std::uint8_t*>(at);
    return at != MAP_FAILED;
  }
  bool enable(Queue& queue) {
    const auto there = [&](std::uint64_t user) { return memory_ + (user - user_); };
    queue.ring.memory = memory_;
    queue.ring.size = size_;
    queue.ring.desc = reinterpret_cast<vring_desc*>(there(queue.desc));
    queue.ring.avail = reinterpret_cast<vring_avail*>(there(queue.avail));
    queue.ring.used = reinterpret_cast<vring_used*>(there(queue.used));
    queue.ring.call = queue.call.get();
    return true;
  }
  void kicked(std::size_t index) {
    Queue& queue = queues_[index];
    (void)sys::await_event(queue.kick.get(), short_time());
    queue.ring.serve([&](Bytes request, std::size_t capacity) {
      fuse_in_header in{};
      EXPECT_GE(request.size(), sizeof in);
      std::memcpy(&in, request.data(), sizeof in);
      EXPECT_EQ(in.len, request.size());
      opcodes[index].push_back(in.opcode);
      return answering_(request, capacity);
    });
  }

  Answering answering_;
  std::array<Queue, 2> queues_;
  std::uint8_t* memory_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t user_ = 0;
};

}  // namespace vfsmend::daemon::test
