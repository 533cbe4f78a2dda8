// SPDX-License-Identifier: Apache-2.0
// Work that finds more work as it goes, on several threads. The last piece that was added is the
// next to be done: a walk of a tree goes deep first, and little of it waits at any time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace vfsmend::sys {

class TaskPool {
 public:
  struct Task {
    std::function<void()> run;
    const void* subject = nullptr;  // what it is about
  };
  // Told what is worked on. When nothing is left but tasks that run, it is told one of them: should
  // that one hang, then it is the last that was told. Calls do not overlap.
  using Announce = std::function<void(const void* subject)>;

  explicit TaskPool(Announce announce) : announce_(std::move(announce)) {}

  // From any thread, also from within a task.
  void add(Task task);
  // Does all that was added and is added meanwhile, on this thread and `helpers` more; on up to `most`
  // more as long as the processors have nothing to do although tasks wait: they wait for a disk or a
  // server then, which can look for several things at a time. Fewer where no thread can be had.
  void run(unsigned helpers, unsigned most);
  void run(unsigned helpers) { run(helpers, helpers); }

 private:
  using Clock = std::chrono::steady_clock;

  void work(std::size_t self);
  // The next task, when there is one; false when all is done.
  bool next(std::unique_lock<std::mutex>& lock, std::size_t self, Task& task);
  // All three with mutex_ held.
  void start(std::size_t helpers);
  void hire();
  [[nodiscard]] bool is_processor_idle();

  Announce announce_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> waiting_;
  std::vector<const void*> running_;  // by thread: the subject of its task
  std::size_t busy_ = 0;
  std::vector<std::thread> threads_;
  std::size_t most_ = 0;               // of them
  Clock::time_point asked_{};          // when is_processor_idle() was asked last
  std::chrono::nanoseconds used_{0};   // processor time of this process until then
};

}  // namespace vfsmend::sys
