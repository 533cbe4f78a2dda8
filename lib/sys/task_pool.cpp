// SPDX-License-Identifier: Apache-2.0
#include "sys/task_pool.h"

#include <algorithm>
#include <system_error>
#include <thread>

namespace vfsmend::sys {

void TaskPool::add(Task task) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void TaskPool::run(unsigned helpers) {
  running_.assign(helpers + std::size_t{1}, nullptr);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < helpers; ++i) {
    // The only exception of the standard library that is looked for: without threads we are slower.
    try {
      threads.emplace_back([this, i] { work(i + std::size_t{1}); });
    } catch (const std::system_error&) {
      break;
    }
  }
  work(0);
  for (std::thread& thread : threads) thread.join();
}

bool TaskPool::next(std::unique_lock<std::mutex>& lock, std::size_t self, Task& task) {
  while (waiting_.empty() && busy_ != 0) {
    const auto other = std::ranges::find_if(running_, [](const void* p) { return p != nullptr; });
    if (other != running_.end()) announce_(*other);
    changed_.wait(lock);
  }
  if (waiting_.empty()) return false;
  task = std::move(waiting_.back());
  waiting_.pop_back();
  if (task.subject != nullptr) announce_(task.subject);
  running_[self] = task.subject;
  ++busy_;
  return true;
}

void TaskPool::work(std::size_t self) {
  std::unique_lock lock(mutex_);
  Task task;
  while (next(lock, self, task)) {
    lock.unlock();
    task.run();
    task.run = nullptr;
    lock.lock();
    running_[self] = nullptr;
    if (--busy_ == 0 || !waiting_.empty()) changed_.notify_all();
  }
  changed_.notify_all();
}

}  // namespace vfsmend::sys
