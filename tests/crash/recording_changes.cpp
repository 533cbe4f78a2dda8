// SPDX-License-Identifier: Apache-2.0
#include "recording_changes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace vfsmend::test {
namespace {

std::string path_of(int fd) {
  return std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd));
}

std::string path_of(int dir, const char* name) {
  if (dir == AT_FDCWD || *name == '/') return std::filesystem::absolute(name);
  return path_of(dir) + "/" + name;
}

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

struct stat look(int fd) {
  struct stat out {};
  if (::fstat(fd, &out) != 0) throw std::runtime_error("no such descriptor");
  return out;
}

}  // namespace

RecordingChanges::RecordingChanges(const std::string& folder, sys::Changes& next)
    : ForwardingChanges(next), start_(read_disk(folder, &inodes_)), names_(start_.names) {}

int RecordingChanges::file_of(int fd) { return inodes_.at(look(fd).st_ino); }

Change& RecordingChanges::note(Change::Kind kind, int file) {
  Change& change = log_.emplace_back();
  change.kind = kind;
  change.file = file;
  return change;
}

void RecordingChanges::note_name(const std::string& path, int file) {
  if (file < 0) names_.erase(path);
  else names_[path] = file;
  Change& change = note(Change::Kind::kNames);
  change.directory = directory_of(path);
  change.names = {{path, file}};
}

int RecordingChanges::create(int dir, const char* name, int flags, mode_t mode) {
  const int fd = next_.create(dir, name, flags, mode);
  if (fd < 0) return fd;
  const struct stat st = look(fd);
  const int file = static_cast<int>(start_.files.size());
  start_.files[file] = {"", st.st_mode & 07777, st.st_uid, st.st_gid, 0};
  inodes_[st.st_ino] = file;  // the number of one that is gone may come again
  if ((flags & O_TMPFILE) == O_TMPFILE) return fd;
  note_name(path_of(dir, name), file);
  return fd;
}

ssize_t RecordingChanges::pwrite(int fd, Bytes bytes, std::uint64_t offset) {
  const ssize_t n = next_.pwrite(fd, bytes, offset);
  if (n <= 0) return n;
  const std::string_view written = as_text(bytes.first(static_cast<std::size_t>(n)));
  Change& change = note(Change::Kind::kWrite, file_of(fd));
  change.bytes = written;
  change.offset = offset;
  return n;
}

ssize_t RecordingChanges::copy_file_range(int from, std::uint64_t from_offset, int to,
                                          std::uint64_t to_offset, std::uint64_t size) {
  const ssize_t n = next_.copy_file_range(from, from_offset, to, to_offset, size);
  if (n <= 0) return n;
  std::string bytes(static_cast<std::size_t>(n), '\0');
  if (::pread(from, bytes.data(), bytes.size(), static_cast<off_t>(from_offset)) != n) {
    throw std::runtime_error("what was copied cannot be read");
  }
  Change& change = note(Change::Kind::kWrite, file_of(to));
  change.bytes = std::move(bytes);
  change.offset = to_offset;
  return n;
}

int RecordingChanges::ftruncate(int fd, std::uint64_t size) {
  const int rc = next_.ftruncate(fd, size);
  if (rc == 0) note(Change::Kind::kTruncate, file_of(fd)).offset = size;
  return rc;
}

int RecordingChanges::fsync(int fd) {
  const int rc = next_.fsync(fd);
  if (rc != 0) return rc;
  if (S_ISDIR(look(fd).st_mode)) note(Change::Kind::kSyncNames).directory = path_of(fd);
  else note(Change::Kind::kSyncFile, file_of(fd));
  return rc;
}

int RecordingChanges::link(int fd, int dir, const char* name) {
  const int rc = next_.link(fd, dir, name);
  if (rc != 0) return rc;
  note_name(path_of(dir, name), file_of(fd));
  return rc;
}

int RecordingChanges::rename(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) {
  const int rc = next_.rename(from_dir, from, to_dir, to, flags);
  if (rc != 0) return rc;
  const std::string old_path = path_of(from_dir, from);
  const std::string new_path = path_of(to_dir, to);
  if (directory_of(old_path) != directory_of(new_path)) throw std::runtime_error("a move to another directory");
  const int file = names_.at(old_path);
  const auto there = names_.find(new_path);
  if (there != names_.end() && there->second == file) return rc;  // rename(2): does nothing
  names_.erase(old_path);
  names_[new_path] = file;
  Change& change = note(Change::Kind::kNames);
  change.directory = directory_of(new_path);
  change.names = {{old_path, -1}, {new_path, file}};
  return rc;
}

int RecordingChanges::unlink(int dir, const char* name) {
  const int rc = next_.unlink(dir, name);
  if (rc != 0) return rc;
  note_name(path_of(dir, name), -1);
  return rc;
}

void RecordingChanges::note_looks(int fd, std::int64_t mtime_ns) {
  const struct stat st = look(fd);
  Change& change = note(Change::Kind::kLooks, file_of(fd));
  change.mode = st.st_mode & 07777;
  change.owner = st.st_uid;
  change.group = st.st_gid;
  change.mtime_ns = mtime_ns;
}

int RecordingChanges::chmod(int fd, mode_t mode) {
  const int rc = next_.chmod(fd, mode);
  if (rc == 0) note_looks(fd);
  return rc;
}

int RecordingChanges::chown(int fd, uid_t owner, gid_t group) {
  const int rc = next_.chown(fd, owner, group);
  if (rc == 0) note_looks(fd);
  return rc;
}

int RecordingChanges::set_times(int fd, std::optional<std::int64_t> atime,
                                std::optional<std::int64_t> mtime) {
  const int rc = next_.set_times(fd, atime, mtime);
  if (rc == 0) note_looks(fd, mtime.value_or(0));
  return rc;
}

}  // namespace vfsmend::test
