// SPDX-License-Identifier: Apache-2.0
// Work that finds more work as it goes, on several threads. The last piece that was added is the
// next to be done: a walk of a tree goes deep first, and little of it waits at any time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
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
  // Does all that was added and is added meanwhile, on this thread and `helpers` more. Fewer where
  // no thread can be had.
  void run(unsigned helpers);

 private:
  void work(std::size_t self);
  // The next task, when there is one; false when all is done.
  bool next(std::unique_lock<std::mutex>& lock, std::size_t self, Task& task);

  Announce announce_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> waiting_;
  std::vector<const void*> running_;  // by thread: the subject of its task
  std::size_t busy_ = 0;
};

}  // namespace vfsmend::sys
