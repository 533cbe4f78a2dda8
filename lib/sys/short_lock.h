// SPDX-License-Identifier: Apache-2.0
// Locks that are held for less time than it takes to fall asleep and to be woken.
#pragma once

#include <mutex>
#include <thread>

namespace vfsmend::sys {

// Locks `mutex`, and tries that for about a microsecond before it sleeps. Two threads of a walk meet at
// such a lock a hundred times in 50 ms; each sleep costs them a call of the kernel each and an interrupt.
[[nodiscard]] inline std::unique_lock<std::mutex> lock_soon(std::mutex& mutex) {
  constexpr int kTries = 100;
  std::unique_lock lock(mutex, std::try_to_lock);
  for (int i = 1; i < kTries && !lock.owns_lock(); ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
    static_cast<void>(lock.try_lock());
  }
  if (!lock.owns_lock()) lock.lock();
  return lock;
}

}  // namespace vfsmend::sys
