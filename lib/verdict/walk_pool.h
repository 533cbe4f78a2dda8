// SPDX-License-Identifier: Apache-2.0
// A second thread for the walk of a large state: the system calls are its cost, and two of them at
// a time take half as long.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "state/node_index.h"
#include "sys/unique_fd.h"
#include "verdict/share.h"

namespace vfsmend {

// A directory in hand, below which the walk goes on.
struct Place {
  sys::UniqueFd fd;
  Zone zone = Zone::kShare;
  bool searchable = true;  // the daemon may open names in it
  bool remapped = false;   // another directory by design: no record of the captured one fits
};

// Children of one place, with all that is below them.
struct Batch {
  std::shared_ptr<const Place> place;
  std::span<const EntryIndex> children;
};

class WalkPool {
 public:
  // Fewer entries are not worth handing over.
  static constexpr std::size_t kBatch = 512;
  // Batches that wait; each may hold a descriptor.
  static constexpr std::size_t kMostWaiting = 32;

  // `work` is called with each batch, from either thread. A walk of few inodes has no second one.
  WalkPool(std::size_t inodes, std::function<void(const Batch&)> work);
  WalkPool(const WalkPool&) = delete;
  WalkPool& operator=(const WalkPool&) = delete;
  ~WalkPool() { finish(); }

  [[nodiscard]] bool has_helper() const { return helper_.joinable(); }
  // False: there is nobody, or enough is waiting: do it yourself.
  bool offer(Batch batch);
  // Does what is still waiting, and waits for the helper. No batch may be offered afterwards.
  void finish();

 private:
  // Runs one batch, waiting for it. False: there will be none any more.
  bool run_one();

  std::function<void(const Batch&)> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> waiting_;
  std::size_t running_ = 0;  // batches in work: each may offer more
  bool closed_ = false;
  std::thread helper_;
};

}  // namespace vfsmend
