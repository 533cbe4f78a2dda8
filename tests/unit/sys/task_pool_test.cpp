// SPDX-License-Identifier: Apache-2.0
// Work that finds more work: all of it is done, once, with any number of threads, and what hangs is
// what was told last.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include "sys/task_pool.h"

namespace vfsmend::sys {
namespace {

// Subjects are places in it.
constexpr std::array<char, 8> kSubjects{};
const void* subject(std::size_t i) { return &kSubjects.at(i); }

class TaskPoolTest : public testing::TestWithParam<unsigned> {};

TEST_P(TaskPoolTest, EachTaskRunsOnce) {
  TaskPool pool([](const void*) {});
  std::vector<std::atomic<int>> runs(10'000);
  for (auto& run : runs) pool.add({[&run] { ++run; }, nullptr});
  pool.run(GetParam());
  for (const auto& run : runs) ASSERT_EQ(run, 1);
}

TEST_P(TaskPoolTest, TasksMayAddTasks) {
  TaskPool pool([](const void*) {});
  std::atomic<int> done{0};
  std::function<void(int)> branch = [&](int depth) {
    ++done;
    for (int i = 0; i < 2 && depth > 0; ++i) pool.add({[&branch, depth] { branch(depth - 1); }, nullptr});
  };
  pool.add({[&] { branch(12); }, nullptr});
  pool.run(GetParam());
  EXPECT_EQ(done, (1 << 13) - 1);
}

TEST_P(TaskPoolTest, ALongChainOfOneTaskAtATime) {
  TaskPool pool([](const void*) {});
  int left = 20'000;
  std::function<void()> next = [&] {
    if (--left > 0) pool.add({[&] { next(); }, nullptr});
  };
  pool.add({[&] { next(); }, nullptr});
  pool.run(GetParam());
  EXPECT_EQ(left, 0);
}

TEST_P(TaskPoolTest, NothingToDo) {
  TaskPool pool([](const void*) { FAIL() << "there is nothing to tell"; });
  pool.run(GetParam());
}

TEST_P(TaskPoolTest, MayRunAgain) {
  TaskPool pool([](const void*) {});
  std::atomic<int> done{0};
  for (int round = 0; round < 50; ++round) {
    pool.add({[&] { ++done; }, nullptr});
    pool.run(GetParam());
  }
  EXPECT_EQ(done, 50);
}

// Calls do not overlap, each subject is told, and no other.
TEST_P(TaskPoolTest, TellsEachSubject) {
  std::atomic<int> inside{0};
  std::set<const void*> told;
  TaskPool pool([&](const void* what) {
    EXPECT_EQ(inside.fetch_add(1), 0);
    told.insert(what);
    inside.fetch_sub(1);
  });
  for (int i = 0; i < 1000; ++i) {
    pool.add({[] {}, i % 3 == 2 ? nullptr : subject(i % 3)});
  }
  pool.run(GetParam());
  EXPECT_EQ(told, (std::set<const void*>{subject(0), subject(1)}));
}

INSTANTIATE_TEST_SUITE_P(Helpers, TaskPoolTest, testing::Values(0U, 1U, 7U));

// Tasks that wait for something outside leave the processor alone.
TEST(TaskPool, MoreThreadsComeWhereTasksWaitForSomethingElse) {
  TaskPool pool([](const void*) {});
  std::atomic<int> at_once{0};
  std::atomic<int> peak{0};
  for (int i = 0; i < 300; ++i) {
    pool.add({[&] {
                const int now = ++at_once;
                for (int seen = peak; now > seen && !peak.compare_exchange_weak(seen, now);) {}
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
                --at_once;
              },
              nullptr});
  }
  pool.run(0, 5);
  EXPECT_GT(peak, 1);
  EXPECT_LE(peak, 6);
}

TEST(TaskPool, NoMoreThreadsThanAllowed) {
  TaskPool pool([](const void*) {});
  std::set<std::thread::id> threads;
  std::mutex mutex;
  for (int i = 0; i < 50; ++i) {
    pool.add({[&] {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                const std::lock_guard lock(mutex);
                threads.insert(std::this_thread::get_id());
              },
              nullptr});
  }
  pool.run(1);
  EXPECT_LE(threads.size(), 2U);
}

TEST(TaskPool, TheLastThatWasAddedIsNext) {
  std::vector<int> order;
  TaskPool pool([](const void*) {});
  for (int i = 0; i < 3; ++i) {
    pool.add({[&order, &pool, i] {
                order.push_back(i);
                if (i == 2) pool.add({[&order] { order.push_back(9); }, nullptr});
              },
              nullptr});
  }
  pool.run(0);
  EXPECT_EQ(order, (std::vector<int>{2, 9, 1, 0}));
}

// One task hangs while others end after it has begun: it is the last that was told.
TEST(TaskPool, WhatHangsIsWhatWasToldLast) {
  std::mutex mutex;
  std::condition_variable told_again;
  const void* last = nullptr;
  int told = 0;
  TaskPool pool([&](const void* what) {
    const std::lock_guard lock(mutex);
    last = what;
    ++told;
    told_again.notify_all();
  });
  std::latch hangs(1);
  std::latch go_on(1);
  // Added last, so begun first; the others end only when it hangs.
  for (std::size_t i = 1; i < 8; ++i) pool.add({[&] { hangs.wait(); }, subject(i)});
  pool.add({[&] {
              hangs.count_down();
              go_on.wait();
            },
            subject(0)});
  std::thread runs([&] { pool.run(3); });
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(told_again.wait_for(lock, std::chrono::minutes(1), [&] { return told > 8 && last == subject(0); }));
  }
  go_on.count_down();
  runs.join();
}

}  // namespace
}  // namespace vfsmend::sys
