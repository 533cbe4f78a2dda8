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

namespace vfsmend::sys {
namespace {

// Names that are tried until one is free.
constexpr int kTries = 100;

int or_errno(int result) {
  return result < 0 ? -errno : result;
}

}  // namespace

std::string directory_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : file.substr(0, slash);
}

Result<void> sync_directory(int dir, const std::string& file) {
  const UniqueFd fd(::openat(dir, directory_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // EINVAL: a file system that has nothing to sync there.
  if (fd.valid() && (::fsync(fd.get()) == 0 || errno == EINVAL)) return {};
  return fail_errno(errno, "its directory cannot be synced");
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot be written");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Draft::Draft(int dir, std::string file) : dir_(dir), file_(std::move(file)) {
  constexpr mode_t kPrivate = S_IRUSR | S_IWUSR;
  int fd = or_errno(
      ::openat(dir_, directory_of(file_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kPrivate));
  if (fd < 0) fd = -EEXIST;
  for (int i = 0; i < kTries && fd == -EEXIST; ++i) {
    name_ = free_name(i);
    fd = or_errno(::openat(dir_, name_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, kPrivate));
    named_ = fd >= 0;
  }
  fd_ = UniqueFd(fd);
}

Draft::~Draft() {
  if (named_) ::unlinkat(dir_, name_.c_str(), 0);
}

Result<void> Draft::rename_to_file() {
  VFSMEND_TRY(give_name());
  if (::renameat(dir_, name_.c_str(), dir_, file_.c_str()) != 0) {
    return fail_errno(errno, "cannot be replaced");
  }
  named_ = false;
  return {};
}

Result<void> Draft::rename_to_new_file() {
  VFSMEND_TRY(give_name());
  int rc = or_errno(::renameat2(dir_, name_.c_str(), dir_, file_.c_str(), RENAME_NOREPLACE));
  if (rc == -EINVAL) {  // a file system that does not know the flag: NFS among them
    struct stat there {};
    const bool is_free = ::fstatat(dir_, file_.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0;
    rc = is_free ? or_errno(::renameat(dir_, name_.c_str(), dir_, file_.c_str())) : -EEXIST;
  }
  if (rc == -EEXIST) return fail(ErrorCode::kUsage, "is there already");
  if (rc < 0) return fail_errno(-rc, "cannot be made");
  named_ = false;
  return {};
}

// linkat(2) replaces nothing, so the name has to be a new one.
Result<void> Draft::give_name() {
  if (named_) return {};
  const std::string link = fmt::format("/proc/self/fd/{}", fd_.get());
  for (int i = 0; i < kTries; ++i) {
    name_ = free_name(i);
    if (::linkat(AT_FDCWD, link.c_str(), dir_, name_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      named_ = true;
      return {};
    }
    if (errno != EEXIST) break;
  }
  return fail_errno(errno, "cannot be made");
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
