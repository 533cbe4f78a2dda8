// SPDX-License-Identifier: Apache-2.0
#include "sys/task_pool.h"

#include <algorithm>
#include <ctime>
#include <system_error>

#include "sys/short_lock.h"

namespace vfsmend::sys {
namespace {

// Of all threads of this process.
std::chrono::nanoseconds processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace

void TaskPool::add(Task task) {
  {
    const auto lock = lock_soon(mutex_);
    waiting_.push_back(std::move(task));
    if (busy_ != 0) hire();
  }
  changed_.notify_one();
}

void TaskPool::run(unsigned helpers, unsigned most) {
  {
    const auto lock = lock_soon(mutex_);
    running_.assign(1, nullptr);
    most_ = most;
    asked_ = Clock::now();
    used_ = processor_time();
    start(helpers);
  }
  work(0);
  std::vector<std::thread> threads;
  {
    const auto lock = lock_soon(mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void TaskPool::start(std::size_t helpers) {
  for (std::size_t i = 0; i < helpers; ++i) {
    // The only exception of the standard library that is looked for: without threads we are slower.
    try {
      threads_.emplace_back([this, self = running_.size()] { work(self); });
      running_.push_back(nullptr);
    } catch (const std::system_error&) {
      most_ = threads_.size();
      return;
    }
  }
}

void TaskPool::hire() {
  if (threads_.size() >= most_ || waiting_.empty() || !is_processor_idle()) return;
  start(std::min({most_ - threads_.size(), threads_.size() + 1, waiting_.size()}));
}

bool TaskPool::is_processor_idle() {
  constexpr std::chrono::milliseconds kLook{5};
  const Clock::time_point now = Clock::now();
  if (now - asked_ < kLook) return false;
  const std::chrono::nanoseconds used = processor_time();
  const std::size_t workers =
      std::min<std::size_t>(threads_.size() + 1, std::max(1U, std::thread::hardware_concurrency()));
  const bool idle = used - used_ < (now - asked_) * static_cast<int>(workers) * 3 / 4;
  asked_ = now;
  used_ = used;
  return idle;
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
  hire();
  return true;
}

void TaskPool::work(std::size_t self) {
  std::unique_lock lock = lock_soon(mutex_);
  Task task;
  while (next(lock, self, task)) {
    lock.unlock();
    task.run();
    task.run = nullptr;
    lock = lock_soon(mutex_);
    running_[self] = nullptr;
    if (--busy_ == 0 || !waiting_.empty()) changed_.notify_all();
  }
  changed_.notify_all();
}

}  // namespace vfsmend::sys
