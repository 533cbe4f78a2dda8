// SPDX-License-Identifier: Apache-2.0
#include "verdict/stamp.h"

#include <array>

namespace vfsmend {

SnapshotStamp stamp_of(sys::Calls& calls, const std::string& path) {
  static constexpr std::array<const char*, 6> kFiles = {
      "", "/state.json", "/config.json", "/snapshot", "/snapshot/state.json",
      "/snapshot/config.json"};
  const auto ns = [](const statx_timestamp& t) {
    return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
  };
  SnapshotStamp stamps;
  for (const char* file : kFiles) {
    struct statx stat{};
    FileStamp stamp;
    if (calls.statx(AT_FDCWD, (path + file).c_str(), 0, STATX_BASIC_STATS, stat) == 0) {
      stamp = {stat.stx_ino, stat.stx_size, ns(stat.stx_mtime), ns(stat.stx_ctime)};
    }
    stamps.push_back(stamp);
  }
  return stamps;
}

}  // namespace vfsmend
