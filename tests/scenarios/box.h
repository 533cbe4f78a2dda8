// SPDX-License-Identifier: Apache-2.0
// A state inside each kind of snapshot, by writers that share no code with the library: what a repair
// leaves is held against what they write of the same state, so that no other byte may have moved.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace vfsmend::test {

enum class BoxKind { kRaw, kCubeFlat, kCubePackage, kCloudHypervisor, kQemu };

inline const std::vector<BoxKind> kAllBoxes = {BoxKind::kRaw, BoxKind::kCubeFlat, BoxKind::kCubePackage,
                                               BoxKind::kCloudHypervisor, BoxKind::kQemu};

[[nodiscard]] std::string name_of(BoxKind kind);
[[nodiscard]] inline bool is_cube(BoxKind kind) {
  return kind == BoxKind::kCubeFlat || kind == BoxKind::kCubePackage;
}

class Box {
 public:
  // Below `folder`, which is made. `backend` is CubeSandbox's backendfs_config.
  Box(BoxKind kind, std::string folder, std::string backend);

  // Writes all files, with mode 0640 and times of long ago.
  void write(Bytes state) const;
  // The bytes of the file that holds the state.
  [[nodiscard]] std::string bytes_with(Bytes state) const;
  // What vfsmend is given.
  [[nodiscard]] std::string path() const;
  // The file that holds the state.
  [[nodiscard]] std::string file() const;

  struct Entry {
    std::string bytes;
    std::string stamp;  // mode, owner, modification time
    bool operator==(const Entry&) const = default;
  };
  // All files below the folder, by their paths.
  [[nodiscard]] std::map<std::string, Entry> content() const;

 private:
  [[nodiscard]] std::string directory() const;

  BoxKind kind_;
  std::string folder_;
  std::string backend_;
  std::string stream_;  // of QEMU, with another state in it
};

}  // namespace vfsmend::test
