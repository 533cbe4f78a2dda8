// SPDX-License-Identifier: Apache-2.0
// All that a repair may put back of an object or a tree, as text: types, modes, owners, modification
// times and attributes; not change times, which nobody can put back.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/text.h"
#include "sys/xattrs.h"

namespace vfsmend::test {

inline std::string host_facts_of(const std::string& path) {
  struct stat s {};
  EXPECT_EQ(::lstat(path.c_str(), &s), 0) << path;
  sys::Xattrs xattrs;
  EXPECT_EQ(sys::read_xattrs(sys::kernel(), AT_FDCWD, path.c_str(), xattrs), 0);
  std::string out = fmt::format("{:o} {}:{} {}.{:09}", s.st_mode, s.st_uid, s.st_gid, s.st_mtim.tv_sec,
                                s.st_mtim.tv_nsec);
  for (const auto& [name, value] : xattrs) out += fmt::format(" {}={}", name, spaced_hex(as_bytes(value)));
  return out;
}

// Of everything below a directory, itself included.
inline std::string host_facts(const std::string& directory) {
  std::map<std::string, std::string> lines;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    lines[entry.path()] = host_facts_of(entry.path());
  }
  std::string out = host_facts_of(directory) + "\n";
  for (const auto& [path, line] : lines) out += fmt::format("{} {}\n", path, line);
  return out;
}

}  // namespace vfsmend::test
