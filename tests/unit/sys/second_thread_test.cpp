// SPDX-License-Identifier: Apache-2.0
// Both pieces of work are done, each once, as often as is asked; and the lock that is tried before it
// is waited for is a lock.
#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <thread>
#include <vector>

#include "sys/second_thread.h"
#include "sys/short_lock.h"

namespace vfsmend::sys {
namespace {

TEST(SecondThread, DoesBothEachTime) {
  SecondThread second;
  std::vector<int> one(5'000);
  std::vector<int> other(5'000);
  for (std::size_t i = 0; i < one.size(); ++i) {
    second.do_both([&] { ++one[i]; }, [&] { ++other[i]; });
    ASSERT_EQ(one[i], 1);
    ASSERT_EQ(other[i], 1);
  }
}

// Each waits for the other: done one after the other they would never end.
TEST(SecondThread, DoesThemAtTheSameTime) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one processor";
  SecondThread second;
  for (int i = 0; i < 100; ++i) {
    std::latch both(2);
    std::thread::id one;
    second.do_both([&] { both.arrive_and_wait(), one = std::this_thread::get_id(); },
                   [&] { both.arrive_and_wait(); });
    EXPECT_NE(one, std::this_thread::get_id());
  }
}

TEST(SecondThread, IsTheSameFromItsStartOn) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one processor";
  SecondThread second;
  second.start();
  second.start();
  std::thread::id first;
  std::thread::id later;
  second.do_both([&] { first = std::this_thread::get_id(); }, [] {});
  second.do_both([&] { later = std::this_thread::get_id(); }, [] {});
  EXPECT_EQ(first, later);
}

TEST(SecondThread, MayEndWithoutWork) {
  SecondThread never_started;
  SecondThread started;
  started.start();
}

TEST(LockSoon, OneAtATime) {
  constexpr int kEach = 100'000;
  std::mutex mutex;
  int count = 0;
  const auto add = [&] {
    for (int i = 0; i < kEach; ++i) {
      const auto lock = lock_soon(mutex);
      EXPECT_TRUE(lock.owns_lock());
      ++count;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(add);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 3 * kEach);
}

TEST(LockSoon, WaitsForOneThatIsHeldForLong) {
  std::mutex mutex;
  bool freed = false;
  std::unique_lock held(mutex);
  std::latch waits(1);
  std::thread other([&] {
    waits.count_down();
    const auto lock = lock_soon(mutex);
    EXPECT_TRUE(freed);
  });
  waits.wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  freed = true;
  held.unlock();
  other.join();
}

}  // namespace
}  // namespace vfsmend::sys
