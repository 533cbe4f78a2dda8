// SPDX-License-Identifier: Apache-2.0
#include "verdict/walk_pool.h"

#include <system_error>
#include <utility>

namespace vfsmend {

WalkPool::WalkPool(std::size_t inodes, std::function<void(const Batch&)> work)
    : work_(std::move(work)) {
  if (inodes < 4 * kBatch || std::thread::hardware_concurrency() < 2) return;
  try {
    helper_ = std::thread([this] {
      while (run_one()) {
      }
    });
  } catch (const std::system_error&) {  // no more threads here: one does it all
  }
}

bool WalkPool::offer(Batch batch) {
  if (!has_helper()) return false;
  const std::lock_guard lock(mutex_);
  if (waiting_.size() == kMostWaiting) return false;
  waiting_.push_back(std::move(batch));
  changed_.notify_all();
  return true;
}

bool WalkPool::run_one() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !waiting_.empty() || (closed_ && running_ == 0); });
  if (waiting_.empty()) return false;
  const Batch batch = std::move(waiting_.front());
  waiting_.pop_front();
  ++running_;
  lock.unlock();
  work_(batch);
  lock.lock();
  --running_;
  changed_.notify_all();
  return true;
}

void WalkPool::finish() {
  if (!has_helper()) return;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  while (run_one()) {
  }
  helper_.join();
}

}  // namespace vfsmend
