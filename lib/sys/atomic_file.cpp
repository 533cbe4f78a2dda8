// SPDX-License-Identifier: Apache-2.0
#include "sys/atomic_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "base/text.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {
namespace {

std::string directory_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : file.substr(0, slash);
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

Result<mode_t> mode_for(const std::string& file, FileMode mode) {
  struct stat before {};
  if (::lstat(file.c_str(), &before) != 0) {
    if (errno == ENOENT) return S_IRUSR | S_IWUSR;
    return fail_errno(errno, "cannot be looked at");
  }
  if (!S_ISREG(before.st_mode)) return fail(ErrorCode::kUsage, "is not a regular file");
  if (mode == FileMode::kPrivate) return S_IRUSR | S_IWUSR;
  return before.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
}

// A new file beside `file`, as long as it is one of ours.
class Draft {
 public:
  explicit Draft(const std::string& file) : name_(file + ".XXXXXX") {
    fd_ = UniqueFd(::open(directory_of(file).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (fd_.valid()) return;
    fd_ = UniqueFd(::mkostemp(name_.data(), O_CLOEXEC));
    named_ = fd_.valid();
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (named_) ::unlink(name_.c_str());
  }

  [[nodiscard]] int fd() const { return fd_.get(); }

  Result<void> rename_to(const std::string& file) {
    VFSMEND_TRY(give_name());
    if (::rename(name_.c_str(), file.c_str()) != 0) return fail_errno(errno, "cannot be replaced");
    named_ = false;
    return {};
  }

 private:
  // linkat(2) replaces nothing, so the name has to be a new one.
  Result<void> give_name() {
    if (named_) return {};
    constexpr int kTries = 100;
    const std::string link = fmt::format("/proc/self/fd/{}", fd_.get());
    const std::string stem = name_.substr(0, name_.size() - 6);
    for (int i = 0; i < kTries; ++i) {
      name_ = fmt::format("{}{:06x}", stem, (static_cast<unsigned>(::getpid()) * 100 + i) & 0xffffffU);
      if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
        named_ = true;
        return {};
      }
      if (errno != EEXIST) break;
    }
    return fail_errno(errno, "cannot be made");
  }

  std::string name_;
  UniqueFd fd_;
  bool named_ = false;
};

Result<void> sync_directory(const std::string& file) {
  const UniqueFd fd(::open(directory_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // EINVAL: a file system that has nothing to sync there.
  if (fd.valid() && (::fsync(fd.get()) == 0 || errno == EINVAL)) return {};
  return fail_errno(errno, "its directory cannot be synced");
}

Result<void> copy_all(int from, int to, std::uint64_t size) {
  std::string buffer(std::min<std::uint64_t>(size, std::uint64_t{1} << 20), '\0');
  for (std::uint64_t at = 0; at < size;) {
    const ssize_t n = ::pread(from, buffer.data(), std::min<std::uint64_t>(buffer.size(), size - at),
                              static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "its source cannot be read");
    if (n == 0) return fail(ErrorCode::kFormat, "its source is shorter than it was");
    VFSMEND_TRY(write_all(to, std::string_view(buffer).substr(0, static_cast<std::size_t>(n))));
    at += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<void> replace(const std::string& file, FileMode mode,
                     const std::function<Result<void>(int fd)>& fill) {
  VFSMEND_TRY_ASSIGN(const mode_t bits, mode_for(file, mode));
  Draft draft(file);
  if (draft.fd() < 0) return fail_errno(errno, "cannot be made");
  VFSMEND_TRY(fill(draft.fd()));
  if (::fchmod(draft.fd(), bits) != 0) return fail_errno(errno, "its mode cannot be set");
  if (::fsync(draft.fd()) != 0) return fail_errno(errno, "cannot be synced");
  VFSMEND_TRY(draft.rename_to(file));
  return sync_directory(file);
}

}  // namespace

Result<void> replace_file(const std::string& file, std::string_view content, FileMode mode) {
  Result<void> done = replace(file, mode, [&](int fd) { return write_all(fd, content); });
  if (!done) return tl::make_unexpected(std::move(done).error().context(printable(file)));
  return done;
}

Result<void> move_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return fail_errno(errno, printable(to));
  return sync_directory(to);
}

Result<void> remove_file(const std::string& file) {
  if (::unlink(file.c_str()) != 0) return fail_errno(errno, printable(file));
  return sync_directory(file);
}

Result<void> copy_to_file(int from, std::uint64_t size, const std::string& file) {
  Result<void> done =
      replace(file, FileMode::kPrivate, [&](int fd) { return copy_all(from, fd, size); });
  if (!done) return tl::make_unexpected(std::move(done).error().context(printable(file)));
  return done;
}

}  // namespace vfsmend::sys
