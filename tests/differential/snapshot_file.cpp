// SPDX-License-Identifier: Apache-2.0
#include "snapshot_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sys/unique_fd.h"

namespace vfsmend::differential {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::array<mode_t, 8> kModes = {0600, 0640, 0444, 0644, 0400, 0664, 0, 04750};

void add(std::string& to, bool differs, const char* what) {
  if (!differs) return;
  if (!to.empty()) to += ", ";
  to += what;
}

// tmpfs has attributes of users since Linux 6.6, and those of root ever since.
int give_xattr(int fd, const std::string& value) {
  if (::fsetxattr(fd, "user.vfsmend", value.data(), value.size(), 0) == 0) return 0;
  return ::fsetxattr(fd, "trusted.vfsmend", value.data(), value.size(), 0);
}

}  // namespace

Result<SnapshotFile> SnapshotFile::make(const std::string& folder, Bytes state, Dice& dice) {
  if (::mkdir(folder.c_str(), 0700) != 0) return fail_errno(errno, folder);
  SnapshotFile file(folder);
  VFSMEND_TRY(file.write(state, dice));
  return file;
}

Result<void> SnapshotFile::write(Bytes state, Dice& dice) const {
  const sys::UniqueFd fd(::open(path().c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  if (!fd.valid()) return fail_errno(errno, path());
  if (::write(fd.get(), state.data(), state.size()) != static_cast<ssize_t>(state.size())) {
    return fail_errno(errno, path() + " cannot be written");
  }
  std::string value(dice.roll(40), '\0');
  for (char& byte : value) byte = static_cast<char>(dice.roll(256));
  const auto uid = static_cast<uid_t>(dice.roll(3) * 1000);
  const auto gid = static_cast<gid_t>(dice.roll(3) * 107);
  const auto since_1970 = static_cast<time_t>(dice.roll(4'000'000'000));
  const time_t seconds = dice.percent(10) ? -since_1970 / 4 : since_1970;
  const timespec mtime = {seconds, static_cast<long>(dice.roll(kNsPerSecond))};
  const std::array<timespec, 2> times = {timespec{0, UTIME_OMIT}, mtime};
  // A new owner takes bits of the mode away.
  if (::fchown(fd.get(), uid, gid) != 0 || ::fchmod(fd.get(), dice.one_of(kModes)) != 0 ||
      give_xattr(fd.get(), value) != 0 || ::futimens(fd.get(), times.data()) != 0) {
    return fail_errno(errno, path() + " cannot be given its mode, owner, attribute or time");
  }
  return {};
}

SnapshotFile::~SnapshotFile() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Result<FileFacts> SnapshotFile::facts() const {
  struct stat stat {};
  if (::lstat(path().c_str(), &stat) != 0) return fail_errno(errno, path());
  FileFacts out{stat.st_ino, stat.st_mode, stat.st_uid, stat.st_gid,
                stat.st_mtim.tv_sec * kNsPerSecond + stat.st_mtim.tv_nsec, {}, {}};
  const int err = sys::read_xattrs(sys::kernel(), AT_FDCWD, path().c_str(), out.xattrs);
  if (err != 0) return fail_errno(-err, path());
  std::ifstream in(path(), std::ios::binary);
  out.bytes.assign(std::istreambuf_iterator<char>(in), {});
  if (!in) return fail(ErrorCode::kSystem, path() + " cannot be read");
  return out;
}

std::vector<std::string> SnapshotFile::others() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (entry.path() != path()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string differing_looks(const FileFacts& a, const FileFacts& b) {
  std::string out;
  add(out, a.mode != b.mode, "mode");
  add(out, a.uid != b.uid || a.gid != b.gid, "owner");
  add(out, a.xattrs != b.xattrs, "attributes");
  return out;
}

std::string differing(const FileFacts& a, const FileFacts& b) {
  std::string out = differing_looks(a, b);
  add(out, a.ino != b.ino, "inode");
  add(out, a.mtime != b.mtime, "mtime");
  add(out, a.bytes != b.bytes, "bytes");
  return out;
}

}  // namespace vfsmend::differential
