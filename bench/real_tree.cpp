// SPDX-License-Identifier: Apache-2.0
#include "real_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

namespace vfsmend::bench {
namespace {

std::int64_t nanoseconds(const struct statx_timestamp& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

void add_handle(EntryTable& e, const std::string& path) {
  union {
    struct file_handle head;
    std::array<char, sizeof(struct file_handle) + kMaxHandleBytes> room;
  } handle{};
  handle.head.handle_bytes = kMaxHandleBytes;
  int mount_id = 0;
  const bool has = ::name_to_handle_at(AT_FDCWD, path.c_str(), &handle.head, &mount_id, 0) == 0;
  e.handle_type.push_back(has ? handle.head.handle_type : 0);
  const char* bytes = handle.room.data() + sizeof(struct file_handle);
  e.handle.add(has ? std::string_view(bytes, handle.head.handle_bytes) : "");
}

std::uint32_t device_of(std::vector<std::uint64_t>& devices, std::uint64_t device) {
  const auto found = std::find(devices.begin(), devices.end(), device);
  const auto position = static_cast<std::uint32_t>(found - devices.begin());
  if (found == devices.end()) devices.push_back(device);
  return position;
}

bool add(ManifestSection& section, std::uint32_t parent, const std::string& path,
         std::string_view name) {
  struct statx s {};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &s)) {
    return false;
  }
  EntryTable& e = section.entries;
  e.parent.push_back(parent);
  e.name.add(name);
  e.node.push_back(0);
  e.mode.push_back(s.stx_mode);
  e.uid.push_back(s.stx_uid);
  e.gid.push_back(s.stx_gid);
  e.nlink.push_back(s.stx_nlink);
  e.size.push_back(s.stx_size);
  e.device.push_back(device_of(section.devices, makedev(s.stx_dev_major, s.stx_dev_minor)));
  e.ino.push_back(s.stx_ino);
  e.rdev.push_back(makedev(s.stx_rdev_major, s.stx_rdev_minor));
  e.mtime.push_back(nanoseconds(s.stx_mtime));
  e.ctime.push_back(nanoseconds(s.stx_ctime));
  e.btime.push_back(s.stx_mask & STATX_BTIME ? nanoseconds(s.stx_btime) : kNoTime);
  add_handle(e, path);
  e.xattrs.push_back(0);
  e.target.add("");
  e.notes.push_back(0);
  return true;
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Manifest real_tree(const std::string& directory) {
  Manifest out;
  ManifestSection& section = out.sections.emplace_back();
  section.share = section.real_share = directory;
  section.whole_tree = true;
  section.xattr_sets = {{}};
  std::vector<std::string> paths{directory};
  if (!add(section, kNoParent, directory, "")) return {};
  for (std::uint32_t i = 0; i < paths.size(); ++i) {
    if (!S_ISDIR(section.entries.mode[i])) continue;
    for (const std::string& name : names_in(paths[i])) {
      std::string path = paths[i] + "/" + name;
      if (add(section, i, path, name)) paths.push_back(std::move(path));
    }
  }
  return out;
}

}  // namespace vfsmend::bench
