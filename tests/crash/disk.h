// SPDX-License-Identifier: Apache-2.0
// The files of one folder as a disk holds them: what is read from there, changed here, and put back.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

namespace vfsmend::test {

// Not played: attributes, and times but those that were there at the start or were set.
struct DiskFile {
  std::string bytes;
  mode_t mode = 0600;
  uid_t owner = 0;
  gid_t group = 0;
  std::int64_t mtime_ns = 0;  // 0: of no interest
};

struct Disk {
  std::map<std::string, int> names;  // path -> file; two names of one file are hard links
  std::map<int, DiskFile> files;

  // Disks with the same text are the same to whoever looks.
  [[nodiscard]] std::string text() const;
};

// The regular files below `folder`. Files are numbered from 0 on; `inodes`, where it is given, gets
// the number of each inode.
[[nodiscard]] Disk read_disk(const std::string& folder, std::map<ino_t, int>* inodes = nullptr);

// Makes the files of `folder` those of `disk`; directories stay.
void put_disk(const Disk& disk, const std::string& folder);

}  // namespace vfsmend::test
