// SPDX-License-Identifier: Apache-2.0
#include "manifest/object.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fmt/format.h>

#include <cerrno>
#include <climits>
#include <ctime>

#include "manifest/manifest.h"
#include "sys/times.h"
#include "sys/unique_fd.h"

namespace vfsmend {
namespace {

constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

int stat_now(sys::Calls& calls, int dir, const char* name, ObjectFacts& out) {
  struct statx stat{};
  const int flags = *name == '\0' ? kFlags | AT_EMPTY_PATH : kFlags;
  const int err = calls.statx(dir, name, flags, kObjectMask, stat);
  if (err == 0) out = facts_of(stat);
  return err;
}

bool is_gone(int err) { return err == -ENOENT || err == -ESTALE || err == -ENOTDIR; }

Look failed(int err, const char* what) {
  return {is_gone(err) ? LookEnd::kVanished : LookEnd::kUnreadable, -err, what};
}

Look read_content(sys::Calls& calls, int dir, const char* name, Object& out) {
  const sys::UniqueFd fd(open_content(calls, dir, name));
  if (!fd.valid()) return failed(fd.get(), "content");
  ObjectFacts opened;
  if (const int err = stat_now(calls, fd.get(), "", opened); err < 0) return failed(err, "content");
  if (!is_untouched(out.facts, opened)) return {LookEnd::kChanging, 0, ""};  // no FIFO, no device either
  const auto hash = hash_content(calls, fd.get(), out.facts.size);
  if (!hash && hash.error().code == ErrorCode::kFormat) return {LookEnd::kChanging, 0, ""};
  if (!hash) return {LookEnd::kUnreadable, hash.error().sys_errno, "content"};
  // Another file under its name would have moved the ctime of this one too, so the name is not asked again.
  ObjectFacts after;
  if (const int err = stat_now(calls, fd.get(), "", after); err < 0) return failed(err, "content");
  if (!is_untouched(out.facts, after)) return {LookEnd::kChanging, 0, ""};
  out.hash = *hash;
  return {};
}

Look look_once(sys::Calls& calls, int dir, const char* name, const LookOptions& options,
               Object& out) {
  out.hash.reset();
  out.target.clear();
  if (const int err = stat_now(calls, dir, name, out.facts); err < 0) return failed(err, "it");
  Look look;
  const int flags = *name == '\0' ? AT_EMPTY_PATH : 0;
  int err = sys::object_name(calls, dir, name, flags, out.handle);
  if (err < 0) {
    out.handle.size = 0;
    out.handle.type = 0;
    if (err != -EOPNOTSUPP) look = failed(err, "file handle");
  }
  err = sys::read_xattrs(calls, dir, name, out.xattrs);
  if (err < 0) look = failed(err, "extended attributes");
  if (S_ISLNK(out.facts.mode)) {
    out.target.resize(PATH_MAX);
    const ssize_t n = calls.readlinkat(dir, name, out.target);
    out.target.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    if (n < 0) look = failed(static_cast<int>(n), "target");
  }
  const bool may_read = S_ISREG(out.facts.mode) && look.end == LookEnd::kWhole;
  if (may_read && options.may_hash && options.may_hash(out.facts.size)) {
    look = read_content(calls, dir, name, out);
  }
  return look;
}

}  // namespace

ObjectFacts facts_of(const struct statx& stat) {
  ObjectFacts out;
  out.mode = stat.stx_mode;
  out.uid = stat.stx_uid;
  out.gid = stat.stx_gid;
  out.nlink = stat.stx_nlink;
  out.size = stat.stx_size;
  out.device = makedev(stat.stx_dev_major, stat.stx_dev_minor);
  out.ino = stat.stx_ino;
  const bool special = S_ISCHR(stat.stx_mode) || S_ISBLK(stat.stx_mode);
  out.rdev = special ? makedev(stat.stx_rdev_major, stat.stx_rdev_minor) : 0;
  out.mount_id = stat.stx_mnt_id;
  out.mtime = sys::nanoseconds(stat.stx_mtime);
  out.ctime = sys::nanoseconds(stat.stx_ctime);
  out.btime = (stat.stx_mask & STATX_BTIME) != 0 ? sys::nanoseconds(stat.stx_btime) : kNoTime;
  return out;
}

bool is_untouched(const ObjectFacts& before, const ObjectFacts& after) {
  return before.device == after.device && before.ino == after.ino && before.ctime == after.ctime &&
         before.mtime == after.mtime && before.size == after.size && before.mode == after.mode;
}

// Whatever is done to an object, its ctime moves: one that is older than the capture was not
// touched between the calls. Others are looked at until nothing moves.
Look look_at(sys::Calls& calls, int dir, const char* name, const LookOptions& options,
             Object& out) {
  constexpr int kTries = 4;
  Look look{LookEnd::kChanging, 0, ""};
  for (int i = 0; i < kTries && look.end == LookEnd::kChanging; ++i) {
    look = look_once(calls, dir, name, options, out);
    if (look.end == LookEnd::kVanished || look.end == LookEnd::kChanging) continue;
    if (out.facts.ctime < options.began - kClockTick) return look;
    ObjectFacts after;
    const int err = stat_now(calls, dir, name, after);
    if (err < 0) return failed(err, "it");
    if (!is_untouched(out.facts, after)) look = {LookEnd::kChanging, 0, ""};
  }
  return look;
}

int open_content(sys::Calls& calls, int dir, const char* name) {
  open_how how{};
  how.flags = O_RDONLY | O_NOATIME | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_MAGICLINKS;
  std::string link;
  if (*name == '\0') {  // of an O_PATH descriptor: through procfs, which has links of its own kind
    link = "/proc/self/fd/" + std::to_string(dir);
    name = link.c_str();
    how.flags &= ~std::uint64_t{O_NOFOLLOW};
    how.resolve = 0;
  }
  int fd = calls.openat2(dir, name, how);
  if (fd == -EPERM) {  // O_NOATIME is for the owner and for CAP_FOWNER
    how.flags &= ~std::uint64_t{O_NOATIME};
    fd = calls.openat2(dir, name, how);
  }
  return fd;
}

std::int64_t file_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

std::string utc_text(std::int64_t ns) {
  const std::time_t seconds = ns / kNsPerSecond;
  tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace vfsmend
