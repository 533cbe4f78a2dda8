// SPDX-License-Identifier: Apache-2.0
// A point in time up to which something may be waited for.
#pragma once

#include <algorithm>
#include <chrono>

namespace vfsmend::sys {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

  [[nodiscard]] static Deadline in(std::chrono::milliseconds time) {
    return Deadline(Clock::now() + time);
  }

  [[nodiscard]] bool passed() const { return Clock::now() >= at_; }
  // For poll(2): milliseconds that are left, rounded up; 0 where it has passed.
  [[nodiscard]] int poll_timeout() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
  }
  // The earlier of this and one that is `time` away.
  [[nodiscard]] Deadline at_most(std::chrono::milliseconds time) const {
    return Deadline(std::min(at_, Clock::now() + time));
  }

 private:
  explicit Deadline(Clock::time_point at) : at_(at) {}

  Clock::time_point at_;
};

}  // namespace vfsmend::sys
