// SPDX-License-Identifier: Apache-2.0
#include "sys/splice_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/text.h"
#include "sys/draft_file.h"
#include "sys/fd_path.h"
#include "sys/xattrs.h"

namespace vfsmend::sys {
namespace {

constexpr std::uint64_t kLargestCopy = std::uint64_t{1} << 30;    // of one copy_file_range
constexpr std::uint64_t kLargestBuffer = std::uint64_t{1} << 20;  // where there is none

constexpr const char* kAccessAcl = "system.posix_acl_access";

// Where a file lies, held by its directory.
struct Place {
  UniqueFd directory;
  std::string name;
  std::string path;
};

// Writes a file from its begin to its end; what is skipped becomes a hole.
class Writer {
 public:
  Writer(Changes& changes, int from, int to) : changes_(changes), from_(from), to_(to) {}

  // Bytes begin .. end - 1 of the source.
  Result<void> copy(std::uint64_t begin, std::uint64_t end) {
    while (begin < end) {
      const std::uint64_t data = std::min(seek(begin, SEEK_DATA, end), end);
      at_ += data - begin;
      const std::uint64_t hole = std::min(seek(data, SEEK_HOLE, end), end);
      VFSMEND_TRY(copy_data(data, hole));
      begin = hole;
    }
    return {};
  }

  Result<void> put(Bytes bytes) {
    while (!bytes.empty()) {
      const ssize_t n = changes_.pwrite(to_, bytes, at_);
      if (n == -EINTR) continue;
      if (n < 0) return fail_errno(static_cast<int>(-n), "the new file cannot be written");
      bytes = bytes.subspan(static_cast<std::size_t>(n));
      at_ += static_cast<std::uint64_t>(n);
    }
    return {};
  }

  // With the hole that may be at the end.
  Result<void> finish() {
    const int rc = changes_.ftruncate(to_, at_);
    if (rc == 0) return {};
    return fail_errno(-rc, "the new file cannot be given its size");
  }

 private:
  // The next data or hole from `at` on; a file system that cannot tell has data everywhere.
  [[nodiscard]] std::uint64_t seek(std::uint64_t at, int whence, std::uint64_t end) const {
    const off_t found = ::lseek(from_, static_cast<off_t>(at), whence);
    if (found >= 0) return static_cast<std::uint64_t>(found);
    return whence == SEEK_HOLE || errno == ENXIO ? end : at;
  }

  Result<void> copy_data(std::uint64_t begin, std::uint64_t end) {
    while (begin < end && shares_) {
      const ssize_t n =
          changes_.copy_file_range(from_, begin, to_, at_, std::min(end - begin, kLargestCopy));
      if (n == -EINTR) continue;
      // Whatever it was, reading and writing will do it, or meet it too and name it.
      shares_ = n > 0;
      if (!shares_) break;
      begin += static_cast<std::uint64_t>(n);
      at_ += static_cast<std::uint64_t>(n);
    }
    return read_and_write(begin, end);
  }

  Result<void> read_and_write(std::uint64_t begin, std::uint64_t end) {
    ByteVector buffer(std::min(end - begin, kLargestBuffer));
    while (begin < end) {
      const ssize_t n =
          ::pread(from_, buffer.data(), std::min<std::uint64_t>(buffer.size(), end - begin),
                  static_cast<off_t>(begin));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail_errno(errno, fmt::format("cannot be read at byte {}", begin));
      if (n == 0) {
        return fail(ErrorCode::kFormat, fmt::format("byte {}: the file ends here; expected {} more "
                                                    "bytes",
                                                    begin, end - begin));
      }
      VFSMEND_TRY(put(Bytes(buffer).first(static_cast<std::size_t>(n))));
      begin += static_cast<std::uint64_t>(n);
    }
    return {};
  }

  Changes& changes_;
  int from_;
  int to_;
  std::uint64_t at_ = 0;  // in the new file
  bool shares_ = true;    // copy_file_range works here
};

Result<void> fill(Changes& changes, const RegularFile& original, std::span<const Edit> edits, int to) {
  Writer writer(changes, original.fd.get(), to);
  std::uint64_t at = 0;
  for (const Edit& edit : edits) {
    VFSMEND_CHECK(at <= edit.begin && edit.begin <= edit.end && edit.end <= original.stamp.size);
    VFSMEND_TRY(writer.copy(at, edit.begin));
    VFSMEND_TRY(writer.put(edit.bytes));
    at = edit.end;
  }
  VFSMEND_TRY(writer.copy(at, original.stamp.size));
  return writer.finish();
}

// Signatures of a content that is no longer this one; the kernel makes its own.
bool is_of_the_content(const std::string& xattr) {
  return xattr == "security.ima" || xattr == "security.evm";
}

// A label is what lets a confined VMM read its snapshot, and an ACL's mask stands in the mode's
// place of the group: without the ACL the same mode would say something else.
Result<void> copy_xattrs(Calls& calls, Changes& changes, int from, int to) {
  Xattrs all;
  int rc = read_xattrs(calls, from, "", all);
  if (rc < 0) {
    return fail_errno(-rc, "its attributes cannot be read");
  }
  // The directory's default ACL, where it has one, was given to the new file as well.
  rc = changes.remove_xattr(to, kAccessAcl);
  if (rc < 0 && rc != -ENODATA && rc != -EOPNOTSUPP) {
    return fail_errno(-rc, "the new file cannot be freed of its directory's ACL");
  }
  for (const auto& [name, value] : all) {
    if (is_of_the_content(name)) continue;
    rc = changes.set_xattr(to, name.c_str(), value);
    if (rc < 0) {
      return fail_errno(-rc, fmt::format("the new file cannot be given {}", printable(name)));
    }
  }
  return {};
}

enum class Times {
  kOwn,
  kOfTheOriginal,  // of a copy that may be put back in its place
};

// Owner first: a change of it takes bits of the mode away. Ends with all of it on disk.
Result<void> dress(Calls& calls, Changes& changes, const RegularFile& original, int to, Times times) {
  const int from = original.fd.get();
  struct stat is {};
  struct stat wanted {};
  if (::fstat(from, &wanted) != 0 || ::fstat(to, &is) != 0) {
    return fail_errno(errno, "cannot be looked at");
  }
  const bool same_owner = is.st_uid == wanted.st_uid && is.st_gid == wanted.st_gid;
  int rc = same_owner ? 0 : changes.chown(to, wanted.st_uid, wanted.st_gid);
  if (rc < 0) return fail_errno(-rc, "the new file cannot be given its owner");
  VFSMEND_TRY(copy_xattrs(calls, changes, from, to));
  rc = changes.chmod(to, wanted.st_mode & 07777);
  if (rc < 0) return fail_errno(-rc, "the new file cannot be given its mode");
  rc = times == Times::kOwn ? 0 : changes.set_times(to, std::nullopt, original.stamp.mtime_ns);
  if (rc < 0) return fail_errno(-rc, "the new file cannot be given its modification time");
  rc = changes.fsync(to);
  if (rc < 0) return fail_errno(-rc, "the new file cannot be synced");
  return {};
}

tl::unexpected<Error> changed() {
  return tl::make_unexpected(
      Error{ErrorCode::kSystem, EBUSY, "changed since it was read: is it still being written?"});
}

Result<Place> find_place(Calls& calls, const RegularFile& original) {
  Place out;
  const auto path = path_of_fd(calls, original.fd.get());
  if (!path) return fail(ErrorCode::kSystem, "its path cannot be found out (/proc/self/fd)");
  out.path = *path;
  out.name = out.path.substr(out.path.rfind('/') + 1);
  out.directory =
      UniqueFd(::open(directory_of(out.path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out.directory.valid()) return fail_errno(errno, "its directory cannot be opened");
  return out;
}

// What lies there has to be the very object that was read, as it was.
Result<void> check_unchanged(Calls& calls, const Place& place, const RegularFile& original) {
  const auto there = locate(calls, place.directory.get(), place.name, RESOLVE_NO_SYMLINKS);
  if (there && there->stamp == original.stamp) return {};
  return changed();
}

// A second name for the original, and whether one was made: it is taken back where the rest fails.
class Keeper {
 public:
  Keeper(Changes& changes, const Place& place, std::string name)
      : changes_(changes), place_(place), name_(std::move(name)) {}
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper() {
    if (made_ && !wanted_) static_cast<void>(changes_.unlink(place_.directory.get(), name_.c_str()));
  }

  Result<void> keep(Calls& calls, const RegularFile& original) {
    const int dir = place_.directory.get();
    const int rc = changes_.link(original.fd.get(), dir, name_.c_str());
    if (rc == 0) {
      made_ = true;
    } else if (rc == -EEXIST) {
      return fail(ErrorCode::kUsage, fmt::format("{} is there already", printable(name_)));
    } else if (rc == -EPERM || rc == -EOPNOTSUPP || rc == -ENOSYS || rc == -EMLINK) {
      VFSMEND_TRY(copy(calls, original));
    } else {
      return fail_errno(-rc, fmt::format("cannot be kept as {}", printable(name_)));
    }
    return sync_directory(changes_, dir, name_);
  }

  // It stays.
  void settle() { wanted_ = true; }

 private:
  Result<void> copy(Calls& calls, const RegularFile& original) {
    Draft draft(changes_, place_.directory.get(), name_);
    if (draft.fd() < 0) return fail_errno(-draft.fd(), "its copy cannot be made");
    const Result<void> done = copy_to(draft, calls, original);
    if (!done) return tl::make_unexpected(draft.give_up(done.error()));
    made_ = true;
    return {};
  }

  Result<void> copy_to(Draft& draft, Calls& calls, const RegularFile& original) {
    VFSMEND_TRY(fill(changes_, original, {}, draft.fd()));
    VFSMEND_TRY(dress(calls, changes_, original, draft.fd(), Times::kOfTheOriginal));
    VFSMEND_TRY(check_unchanged(calls, place_, original));
    Result<void> named = draft.rename_to_new_file();
    if (!named) return tl::make_unexpected(std::move(named).error().context(printable(name_)));
    return {};
  }

  Changes& changes_;
  const Place& place_;
  std::string name_;
  bool made_ = false;
  bool wanted_ = false;
};

// With the original kept, to the renaming of the new file.
Result<void> put_in_place(Calls& calls, Changes& changes, const Place& place, Draft& draft,
                          const RegularFile& original, std::span<const Edit> edits,
                          const std::string& kept_name) {
  VFSMEND_TRY(fill(changes, original, edits, draft.fd()));
  VFSMEND_TRY(dress(calls, changes, original, draft.fd(), Times::kOwn));
  VFSMEND_TRY(check_unchanged(calls, place, original));
  // Its link changes the ctime in the stamp: no check behind it.
  Keeper keeper(changes, place, kept_name);
  VFSMEND_TRY(keeper.keep(calls, original));
  VFSMEND_TRY(draft.rename_to_file());
  keeper.settle();
  return {};
}

Result<ReplacedFile> replace(Calls& calls, Changes& changes, const Place& place,
                             const RegularFile& original, std::span<const Edit> edits,
                             const std::string& kept_name) {
  VFSMEND_TRY(check_unchanged(calls, place, original));  // before gigabytes are copied for nothing
  Draft draft(changes, place.directory.get(), place.name);
  if (draft.fd() < 0) return fail_errno(-draft.fd(), "a new file beside it cannot be made");
  const Result<void> done = put_in_place(calls, changes, place, draft, original, edits, kept_name);
  if (!done) return tl::make_unexpected(draft.give_up(done.error()));
  VFSMEND_TRY(sync_directory(changes, place.directory.get(), place.name));
  VFSMEND_TRY_ASSIGN(const FileStamp stamp, stamp_of(calls, draft.fd()));
  return ReplacedFile{place.path, place.path.substr(0, place.path.rfind('/') + 1) + kept_name,
                      stamp};
}

}  // namespace

Result<ReplacedFile> splice_file(Calls& calls, Changes& changes, const RegularFile& original,
                                 std::span<const Edit> edits, const std::string& kept_name) {
  if (kept_name.empty() || kept_name == "." || kept_name == ".." ||
      kept_name.find('/') != std::string::npos) {
    return fail(ErrorCode::kUsage,
                fmt::format("'{}' is no name to keep the original under", printable(kept_name)));
  }
  VFSMEND_TRY_ASSIGN(const Place place, find_place(calls, original));
  auto done = replace(calls, changes, place, original, edits, kept_name);
  if (!done) return tl::make_unexpected(std::move(done).error().context(printable(place.path)));
  return done;
}

}  // namespace vfsmend::sys
