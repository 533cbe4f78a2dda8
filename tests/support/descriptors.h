// SPDX-License-Identifier: Apache-2.0
// Which descriptors a process has open, for tests that nothing is left behind or handed on.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace vfsmend::test {

// Number -> what it leads to, as /proc has it. `process`: "self" or a number.
inline std::map<int, std::string> descriptors_of(const std::string& process) {
  std::map<int, std::string> out;
  const std::filesystem::path directory = "/proc/" + process + "/fd";
  std::error_code gone;  // the listing's own descriptor, or the process
  for (std::filesystem::directory_iterator at(directory, gone), end; at != end; at.increment(gone)) {
    const auto target = std::filesystem::read_symlink(at->path(), gone);
    if (!gone) out[std::stoi(at->path().filename())] = target;
  }
  return out;
}

// How many this process has; the listing's own counts, each time.
inline std::size_t open_descriptors() { return descriptors_of("self").size(); }

}  // namespace vfsmend::test
