// SPDX-License-Identifier: Apache-2.0
#include "sys/draft_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>

#include "base/text.h"

namespace vfsmend::sys {
namespace {

// Names that are tried until one is free.
constexpr int kTries = 100;

}  // namespace

std::string directory_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : file.substr(0, slash);
}

Result<void> sync_directory(Changes& changes, int dir, const std::string& file) {
  const UniqueFd fd(::openat(dir, directory_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int rc = fd.valid() ? changes.fsync(fd.get()) : -errno;
  // EINVAL: a file system that has nothing to sync there.
  if (fd.valid() && (rc == 0 || rc == -EINVAL)) return {};
  return fail_errno(-rc, "its directory cannot be synced");
}

Result<void> write_all(Changes& changes, int fd, Bytes bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = changes.pwrite(fd, bytes, offset);
    if (n == -EINTR) continue;
    if (n < 0) return fail_errno(static_cast<int>(-n), "cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Draft::Draft(Changes& changes, int dir, std::string file)
    : changes_(changes), dir_(dir), file_(std::move(file)) {
  constexpr mode_t kPrivate = S_IRUSR | S_IWUSR;
  int fd = changes_.create(dir_, directory_of(file_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC,
                           kPrivate);
  if (fd < 0) fd = -EEXIST;
  for (int i = 0; i < kTries && fd == -EEXIST; ++i) {
    name_ = free_name(i);
    fd = changes_.create(dir_, name_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, kPrivate);
    named_ = fd >= 0;
  }
  fd_ = UniqueFd(fd);
}

Draft::~Draft() {
  if (named_) static_cast<void>(changes_.unlink(dir_, name_.c_str()));
}

Result<void> Draft::rename_to_file() {
  VFSMEND_TRY(give_name());
  const int rc = changes_.rename(dir_, name_.c_str(), dir_, file_.c_str(), 0);
  if (rc < 0) return fail_errno(-rc, "cannot be replaced");
  named_ = false;
  return {};
}

Result<void> Draft::rename_to_new_file() {
  VFSMEND_TRY(give_name());
  int rc = changes_.rename(dir_, name_.c_str(), dir_, file_.c_str(), RENAME_NOREPLACE);
  if (rc == -EINVAL) {  // a file system that does not know the flag: NFS among them
    struct stat there {};
    const bool is_free = ::fstatat(dir_, file_.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0;
    rc = is_free ? changes_.rename(dir_, name_.c_str(), dir_, file_.c_str(), 0) : -EEXIST;
  }
  if (rc == -EEXIST) return fail(ErrorCode::kUsage, "is there already");
  if (rc < 0) return fail_errno(-rc, "cannot be made");
  named_ = false;
  return {};
}

Error Draft::give_up(Error error) {
  if (!named_) return error;
  named_ = false;
  if (changes_.unlink(dir_, name_.c_str()) < 0) {
    error.text += fmt::format("; {} is left beside it", printable(name_.substr(name_.rfind('/') + 1)));
  }
  return error;
}

// linkat(2) replaces nothing, so the name has to be a new one.
Result<void> Draft::give_name() {
  if (named_) return {};
  int rc = -EEXIST;
  for (int i = 0; i < kTries && rc == -EEXIST; ++i) {
    name_ = free_name(i);
    rc = changes_.link(fd_.get(), dir_, name_.c_str());
  }
  if (rc < 0) return fail_errno(-rc, "cannot be made");
  named_ = true;
  return {};
}

// Of a long name as much as a directory takes.
std::string Draft::free_name(int attempt) const {
  constexpr std::size_t kEnding = 7;
  const std::size_t begin = file_.rfind('/') + 1;  // 0 where there is none
  const std::size_t most = begin + NAME_MAX - kEnding;
  const unsigned number = static_cast<unsigned>(::getpid()) * kTries + attempt;
  return fmt::format("{}.{:06x}", file_.substr(0, most), number & 0xffffffU);
}

}  // namespace vfsmend::sys
