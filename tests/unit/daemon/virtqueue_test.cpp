// SPDX-License-Identifier: Apache-2.0
// A queue against a device that answers, answers wrongly, and does not answer.
#include "daemon/virtqueue.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <numeric>

#include "fake_device.h"

namespace vfsmend::daemon::test {
namespace {

class Queue : public testing::Test {
 protected:
  static constexpr std::size_t kOffset = 8192;

  void SetUp() override {
    auto memory = sys::SharedMemory::make(kOffset + Virtqueue::kMemory);
    ASSERT_TRUE(memory) << memory.error().text;
    memory_.emplace(std::move(*memory));
    auto queue = Virtqueue::make(*memory_, kOffset);
    ASSERT_TRUE(queue) << queue.error().text;
    queue_.emplace(std::move(*queue));
  }
  void TearDown() override {
    stop_ = true;
    if (queue_) sys::signal_event(queue_->kick());
    if (device_.joinable()) device_.join();
  }

  // A device in a thread, until the test is over.
  void play(Answering answering) {
    DeviceRing ring;
    ring.memory = memory_->data();
    ring.size = memory_->size();
    ring.desc = reinterpret_cast<vring_desc*>(queue_->descriptors());
    ring.avail = reinterpret_cast<vring_avail*>(queue_->available());
    ring.used = reinterpret_cast<vring_used*>(queue_->used());
    ring.call = queue_->call();
    device_ = std::thread([this, ring, answering = std::move(answering)]() mutable {
      while (!stop_) {
        (void)sys::await_event(queue_->kick(), soon());
        ring.serve(answering);
      }
    });
  }
  // A device that says that it wrote `written` bytes, in answer to `head`.
  void play_liar(std::uint32_t written, std::uint32_t head) {
    play([=](Bytes, std::size_t) { return Answer{as_vector("abcd"), written, head}; });
  }
  static ByteVector as_vector(std::string_view text) { return {text.begin(), text.end()}; }
  [[nodiscard]] std::string exchanged(std::string_view request, std::size_t capacity,
                                      sys::Deadline deadline = soon()) {
    const auto answer = queue_->exchange(as_bytes(request), capacity, deadline);
    return answer ? std::string(as_text(*answer)) : "error: " + answer.error().text;
  }

  std::optional<sys::SharedMemory> memory_;
  std::optional<Virtqueue> queue_;
  std::atomic<bool> stop_ = false;
  std::thread device_;
};

TEST_F(Queue, RequestsAreAnsweredOneByOne) {
  play([](Bytes request, std::size_t capacity) {
    std::string text = std::to_string(capacity) + ":";
    text.append(as_text(request));
    return Answer{as_vector(text), std::nullopt, 0};
  });
  // More than there are places in the ring.
  for (std::size_t i = 0; i < 3 * Virtqueue::kSize; ++i) {
    const std::string request = "request " + std::to_string(i);
    ASSERT_EQ(exchanged(request, 100), "100:" + request);
  }
}

TEST_F(Queue, TheIndexOfTheRingRunsOver) {
  play([](Bytes, std::size_t) { return Answer{as_vector("x"), std::nullopt, 0}; });
  for (int i = 0; i < 0x10000 + 3; ++i) ASSERT_EQ(exchanged("a", 1), "x") << i;
}

TEST_F(Queue, ARequestWithoutAnAnswerOfBytes) {
  std::atomic<std::size_t> capacity_seen = 99;
  play([&](Bytes, std::size_t capacity) {
    capacity_seen = capacity;
    return Answer{};
  });
  EXPECT_EQ(exchanged("forget", 0), "");
  EXPECT_EQ(capacity_seen, 0U);
}

TEST_F(Queue, TheLargestRequestAndAnswer) {
  std::string large(Virtqueue::kBuffer, '\0');
  std::iota(large.begin(), large.end(), '\0');
  play([](Bytes request, std::size_t) {
    return Answer{{request.rbegin(), request.rend()}, std::nullopt, 0};
  });
  const std::string back(large.rbegin(), large.rend());
  EXPECT_TRUE(exchanged(large, large.size()) == back);
}

TEST_F(Queue, OverTheBuffersIsALimit) {
  const std::string large(Virtqueue::kBuffer + 1, 'x');
  EXPECT_EQ(exchanged(large, 1),
            "error: a request of 131073 bytes and an answer of 1 are over 131072");
  EXPECT_EQ(exchanged("x", large.size()),
            "error: a request of 1 bytes and an answer of 131073 are over 131072");
  const auto answer = queue_->exchange({}, large.size(), soon());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kLimit);
}

TEST_F(Queue, MoreThanFits) {
  play_liar(5, 0);
  const auto answer = queue_->exchange(as_bytes("x"), 4, soon());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kFormat);
  EXPECT_EQ(answer.error().text, "the device says it wrote 5 bytes where 4 fit");
  EXPECT_EQ(exchanged("x", 5), "abcd" + std::string(1, '\0')) << "as much as fits";
}

TEST_F(Queue, FarMoreThanFits) {
  play_liar(0xffffffff, 0);
  EXPECT_EQ(exchanged("x", 4), "error: the device says it wrote 4294967295 bytes where 4 fit");
  EXPECT_EQ(exchanged("x", 0), "error: the device says it wrote 4294967295 bytes where 0 fit");
}

TEST_F(Queue, AnotherHead) {
  play_liar(4, 1);
  const auto answer = queue_->exchange(as_bytes("x"), 4, soon());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kFormat);
  EXPECT_EQ(answer.error().text, "the device answers a request 1 that was not made");
}

TEST_F(Queue, NeverAnAnswer) {
  play([](Bytes, std::size_t) { return std::nullopt; });
  const auto begin = std::chrono::steady_clock::now();
  const auto answer = queue_->exchange(as_bytes("x"), 4, short_time());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(answer.error().text, "the device has not answered in time");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kGenerous / 2);
}

TEST_F(Queue, NeverAnAnswerButSignals) {
  // As if the device never stopped to signal: each read takes one of them away.
  const sys::UniqueFd noise(::eventfd(0xffffffff, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC));
  ASSERT_EQ(::dup2(noise.get(), queue_->call()), queue_->call());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(exchanged("x", 4, short_time()), "error: the device has not answered in time");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kGenerous / 2);
}

TEST_F(Queue, ASignalThatWasMissedIsNoAnswerMissed) {
  play([](Bytes, std::size_t) { return Answer{as_vector("x"), std::nullopt, 0}; });
  sys::signal_event(queue_->call());  // one too many, before anything
  EXPECT_EQ(exchanged("a", 1), "x");
  EXPECT_EQ(exchanged("a", 1), "x");
}

}  // namespace
}  // namespace vfsmend::daemon::test
