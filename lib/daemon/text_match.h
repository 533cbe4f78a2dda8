// SPDX-License-Identifier: Apache-2.0
// Two texts of a loader that mean the same: what in them is a daemon's own affair.
#pragma once

#include <string>

namespace vfsmend::daemon {

// "{fd:11}" -> "{fd:N}": the number of a descriptor whose path could not be read.
[[nodiscard]] std::string without_numbers(const std::string& text);

// "Opening inode N (<path>) as handle H: .." in parts; the path is empty where there is none. A
// daemon that keeps inodes as file handles prints one of the links of the file.
struct OpeningText {
  std::string path;
  std::string rest;
};
[[nodiscard]] OpeningText parted(const std::string& text);

}  // namespace vfsmend::daemon
