// SPDX-License-Identifier: Apache-2.0
// Two pieces of work at a time, more than once. The second thread is kept in between: one that wakes
// is given an idle processor, a new one often that of its maker, since by its average load the idle
// one is still as busy as it was with the work before. Then one piece waits for the other.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace vfsmend::sys {

// For one caller at a time, and no work that calls it.
class SecondThread {
 public:
  SecondThread() = default;
  ~SecondThread();
  SecondThread(const SecondThread&) = delete;
  SecondThread& operator=(const SecondThread&) = delete;

  // Starts it, where it is not there yet: best before the first work is at hand. On one processor, or
  // where no thread is to be had, there is none, and that is no error.
  void start();

  // Does both, `one` on the second thread where there is one.
  void do_both(const std::function<void()>& one, const std::function<void()>& other);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;  // until it is done
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace vfsmend::sys
