// SPDX-License-Identifier: Apache-2.0
#include "sys/second_thread.h"

#include <system_error>

namespace vfsmend::sys {

SecondThread::~SecondThread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SecondThread::start() {
  if (thread_.joinable() || std::thread::hardware_concurrency() < 2) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {  // no more threads here: the caller does it all
  }
}

void SecondThread::do_both(const std::function<void()>& one, const std::function<void()>& other) {
  start();
  if (!thread_.joinable()) {
    one();
    other();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    work_ = &one;
  }
  changed_.notify_all();
  other();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return work_ == nullptr; });
}

void SecondThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return work_ != nullptr || ending_; });
    if (ending_) return;
    lock.unlock();
    (*work_)();
    lock.lock();
    work_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace vfsmend::sys
