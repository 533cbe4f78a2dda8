// SPDX-License-Identifier: Apache-2.0
// Times of files as one number.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <limits>

namespace vfsmend::sys {

// Nanoseconds since 1970. File systems reach further (ext4 to 2446): what is beyond 2262-04-11 or
// before 1677-09-21 becomes the last or the first that this number can hold, but one, which stands
// for "not known" elsewhere.
[[nodiscard]] inline std::int64_t nanoseconds(const statx_timestamp& time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  if (time.tv_sec >= kLast / kSecond) return kLast;
  if (time.tv_sec <= -(kLast / kSecond)) return -kLast;
  return time.tv_sec * kSecond + time.tv_nsec;
}

}  // namespace vfsmend::sys
