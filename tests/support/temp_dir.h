// SPDX-License-Identifier: Apache-2.0
// A directory for one test, and small files in it.
#pragma once

#include <mntent.h>
#include <sys/mount.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace vfsmend::test {

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "vfsmend-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) std::abort();
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    unmount_all();
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string operator/(std::string_view name) const {
    return (path_ / name).string();
  }
  // Writes a file (its directories too) and returns its path.
  std::string write(std::string_view name, std::string_view bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return *this / name;
  }
  std::string write(std::string_view name, Bytes bytes) const {
    return write(name, as_text(bytes));
  }

 private:
  // What a test mounted in its own mount namespace: there a mount point cannot be removed.
  void unmount_all() const {
    FILE* const table = ::setmntent("/proc/self/mounts", "r");
    if (table == nullptr) return;
    std::vector<std::string> below;
    while (const mntent* const mount = ::getmntent(table)) {
      const std::string_view place = mount->mnt_dir;
      if (place.starts_with(path_.string() + '/')) below.emplace_back(place);
    }
    ::endmntent(table);
    for (auto place = below.rbegin(); place != below.rend(); ++place) ::umount2(place->c_str(), MNT_DETACH);
  }

  std::filesystem::path path_;
};

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline ByteVector read_bytes(const std::string& path) {
  const std::string text = read_text(path);
  return {text.begin(), text.end()};
}

}  // namespace vfsmend::test
