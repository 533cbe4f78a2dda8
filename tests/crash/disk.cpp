// SPDX-License-Identifier: Apache-2.0
#include "disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "support/temp_dir.h"

namespace vfsmend::test {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

void must(bool done, const std::string& what) {
  if (!done) throw std::runtime_error("the disk of the test: " + what);
}

std::vector<std::string> paths_below(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && !entry.is_symlink()) out.push_back(entry.path());
  }
  return out;
}

void put_file(const DiskFile& file, const std::string& path) {
  std::ofstream(path, std::ios::binary) << file.bytes;
  must(::chown(path.c_str(), file.owner, file.group) == 0, path);
  must(::chmod(path.c_str(), file.mode) == 0, path);
  if (file.mtime_ns == 0) return;
  const timespec times[] = {{0, UTIME_OMIT}, {file.mtime_ns / kSecond, file.mtime_ns % kSecond}};
  must(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0, path);
}

}  // namespace

std::string Disk::text() const {
  std::string out;
  std::map<int, std::size_t> seen;
  for (const auto& [path, number] : names) {
    const DiskFile& file = files.at(number);
    const std::size_t known = seen.try_emplace(number, seen.size()).first->second;
    out += fmt::format("{} {} {:o} {} {} {} {} {}\n", path, known, file.mode, file.owner, file.group,
                       file.mtime_ns, file.bytes.size(), file.bytes);
  }
  return out;
}

Disk read_disk(const std::string& folder, std::map<ino_t, int>* inodes) {
  Disk out;
  std::map<ino_t, int> known;
  for (const std::string& path : paths_below(folder)) {
    struct stat st {};
    must(::lstat(path.c_str(), &st) == 0, path);
    const auto [at, added] = known.try_emplace(st.st_ino, static_cast<int>(known.size()));
    out.names[path] = at->second;
    if (!added) continue;
    out.files[at->second] = {read_text(path), st.st_mode & 07777, st.st_uid, st.st_gid,
                             st.st_mtim.tv_sec * kSecond + st.st_mtim.tv_nsec};
  }
  if (inodes) *inodes = known;
  return out;
}

void put_disk(const Disk& disk, const std::string& folder) {
  for (const std::string& path : paths_below(folder)) std::filesystem::remove(path);
  std::map<int, std::string> made;
  for (const auto& [path, number] : disk.names) {
    const auto [at, first] = made.try_emplace(number, path);
    if (first) put_file(disk.files.at(number), path);
    else std::filesystem::create_hard_link(at->second, path);
  }
}

}  // namespace vfsmend::test
