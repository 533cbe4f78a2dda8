// SPDX-License-Identifier: Apache-2.0
#include "sys/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <vector>

#include "base/text.h"
#include "sys/draft_file.h"

namespace vfsmend::sys {
namespace {

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

Result<void> copy_all(Changes& changes, int from, int to, std::uint64_t size, const CopyWatch& watch) {
  ByteVector buffer(std::min<std::uint64_t>(size, std::uint64_t{1} << 20));
  for (std::uint64_t at = 0; at < size;) {
    const ssize_t n = ::pread(from, buffer.data(), std::min<std::uint64_t>(buffer.size(), size - at),
                              static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "its source cannot be read");
    if (n == 0) return fail(ErrorCode::kFormat, "its source is shorter than it was");
    const Bytes piece = Bytes(buffer).first(static_cast<std::size_t>(n));
    if (watch.piece) watch.piece(piece);
    VFSMEND_TRY(write_all(changes, to, piece, at));
    at += static_cast<std::uint64_t>(n);
  }
  return watch.last ? watch.last() : Result<void>();
}

using Fill = std::function<Result<void>(int fd)>;

Result<void> finish(Changes& changes, Draft& draft, mode_t bits, const Fill& fill) {
  VFSMEND_TRY(fill(draft.fd()));
  int rc = changes.chmod(draft.fd(), bits);
  if (rc < 0) return fail_errno(-rc, "its mode cannot be set");
  rc = changes.fsync(draft.fd());
  if (rc < 0) return fail_errno(-rc, "cannot be synced");
  return draft.rename_to_file();
}

Result<void> replace(Changes& changes, const std::string& file, FileMode mode, const Fill& fill) {
  VFSMEND_TRY_ASSIGN(const mode_t bits, mode_for(file, mode));
  Draft draft(changes, AT_FDCWD, file);
  if (draft.fd() < 0) return fail_errno(-draft.fd(), "cannot be made");
  const Result<void> done = finish(changes, draft, bits, fill);
  if (!done) return tl::make_unexpected(draft.give_up(done.error()));
  return sync_directory(changes, AT_FDCWD, file);
}

}  // namespace

Result<void> replace_file(Changes& changes, const std::string& file, std::string_view content,
                          FileMode mode) {
  Result<void> done = replace(changes, file, mode,
                              [&](int fd) { return write_all(changes, fd, as_bytes(content), 0); });
  if (!done) return tl::make_unexpected(std::move(done).error().context(printable(file)));
  return done;
}

Result<void> move_file(Changes& changes, const std::string& from, const std::string& to) {
  const int rc = changes.rename(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0);
  if (rc < 0) return fail_errno(-rc, printable(to));
  return sync_directory(changes, AT_FDCWD, to);
}

Result<void> remove_file(Changes& changes, const std::string& file) {
  const int rc = changes.unlink(AT_FDCWD, file.c_str());
  if (rc < 0) return fail_errno(-rc, printable(file));
  return sync_directory(changes, AT_FDCWD, file);
}

Result<void> copy_to_file(Changes& changes, int from, std::uint64_t size, const std::string& file,
                          const CopyWatch& watch) {
  Result<void> done = replace(changes, file, FileMode::kPrivate,
                              [&](int fd) { return copy_all(changes, from, fd, size, watch); });
  if (!done) return tl::make_unexpected(std::move(done).error().context(printable(file)));
  return done;
}

Result<void> write_new_file(Changes& changes, const std::string& file, std::uint64_t size,
                            const std::function<Result<void>(std::uint64_t, std::span<std::uint8_t>)>& read,
                            const std::function<Result<void>()>& last) {
  const auto named = [&](Error error) { return tl::make_unexpected(std::move(error).context(printable(file))); };
  struct stat there {};
  if (::lstat(file.c_str(), &there) == 0) return named({ErrorCode::kUsage, 0, "is there already"});
  Draft draft(changes, AT_FDCWD, file);
  if (draft.fd() < 0) return named(Error{ErrorCode::kSystem, -draft.fd(), "cannot be made: " + errno_text(-draft.fd())});
  const auto give_up = [&](const Result<void>& done) { return tl::make_unexpected(draft.give_up(done.error())); };
  ByteVector buffer(std::min<std::uint64_t>(size, std::uint64_t{1} << 20));
  for (std::uint64_t at = 0; at < size;) {
    const auto piece = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), size - at));
    if (const auto done = read(at, piece); !done) return give_up(done);
    if (const auto done = write_all(changes, draft.fd(), piece, at); !done) return named(draft.give_up(done.error()));
    at += piece.size();
  }
  if (const int rc = changes.fsync(draft.fd()); rc < 0) {
    return named(draft.give_up({ErrorCode::kSystem, -rc, "cannot be synced: " + errno_text(-rc)}));
  }
  if (const auto done = last(); !done) return give_up(done);
  if (const auto done = draft.rename_to_new_file(); !done) return named(draft.give_up(done.error()));
  if (const auto done = sync_directory(changes, AT_FDCWD, file); !done) return named(done.error());
  return {};
}

}  // namespace vfsmend::sys
