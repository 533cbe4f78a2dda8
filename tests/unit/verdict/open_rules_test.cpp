// SPDX-License-Identifier: Apache-2.0
// What is predicted of an open, against the kernel's own answer on real objects.
#include "verdict/open_rules.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "base/text.h"
#include "support/temp_dir.h"
#include "sys/mount_table.h"
#include "sys/unique_fd.h"
#include "verdict/share.h"

namespace vfsmend::test {
namespace {

Destination daemon_as_root() {
  Destination to;
  to.capabilities = {true, true, true, false};
  return to;
}

// As the loader does it: through /proc/self/fd, O_NOFOLLOW cleared. A file is made anew for every
// try, for some flags change it.
int really(const std::string& path, std::int32_t flags) {
  const sys::UniqueFd object(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const std::string link = "/proc/self/fd/" + std::to_string(object.get());
  const sys::UniqueFd fd(::open(link.c_str(), (flags & ~O_NOFOLLOW) | O_CLOEXEC, 0600));
  return fd.valid() ? 0 : errno;
}

OpenTarget target_of(const std::string& path) {
  struct statx stat{};
  EXPECT_EQ(::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_MNT_ID,
                    &stat), 0);
  return open_target(stat, sys::read_mount_table(sys::kernel()).value_or(sys::MountTable{}));
}

void compare(const std::string& path, int rounds) {
  std::mt19937 random(20260101);
  const OpenTarget target = target_of(path);
  for (int i = 0; i < rounds; ++i) {
    // Mostly a few bits, as flags are; sometimes any word.
    const auto flags = static_cast<std::int32_t>(i % 4 == 0 ? random()
                                                            : random() & random() & 037777777);
    EXPECT_EQ(predict_open(target, flags, daemon_as_root()), really(path, flags))
        << path << " flags " << std::oct << flags;
  }
}

TEST(OpenRules, AgreeWithTheKernelOnAFile) {
  const TempDir dir;
  compare(dir.write("f", "text"), 3000);
}

TEST(OpenRules, AgreeWithTheKernelOnADirectory) {
  const TempDir dir;
  compare(dir.path(), 3000);
}

TEST(OpenRules, AgreeWithTheKernelOnAReadOnlyMount) {
  const TempDir dir;
  dir.write("f", "text");
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount(dir.path().c_str(), dir.path().c_str(), nullptr, MS_BIND, nullptr) != 0) {
    GTEST_SKIP() << "no private mount namespace here: " << errno_text(errno);
  }
  ASSERT_EQ(::mount(nullptr, dir.path().c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY,
                    nullptr), 0);
  compare(dir / "f", 3000);
  compare(dir.path(), 3000);
  ::umount2(dir.path().c_str(), MNT_DETACH);
}

TEST(OpenRules, NothingButFilesAndDirectoriesIsOpenedAgain) {
  for (const mode_t type : {S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK, S_IFLNK}) {
    OpenTarget target;
    target.mode = type | 0777;
    EXPECT_EQ(predict_open(target, 0, daemon_as_root()), EBADF);
    EXPECT_EQ(predict_open(target, kOpenPath, daemon_as_root()), EBADF);
  }
}

TEST(OpenRules, ModesCountForADaemonWithoutCapabilities) {
  Destination who;
  who.capabilities = {false, false, false, false};
  who.uid = who.gid = 1000;
  OpenTarget target;
  target.mode = S_IFREG | 0640;
  target.uid = 1000;
  EXPECT_EQ(predict_open(target, 2, who), 0);
  target.uid = 0;
  EXPECT_EQ(predict_open(target, 0, who), EACCES);
  target.gid = 1000;
  EXPECT_EQ(predict_open(target, 0, who), 0);
  EXPECT_EQ(predict_open(target, 2, who), EACCES);
  EXPECT_EQ(predict_open(target, kOpenNoAtime, who), EPERM);
}

TEST(OpenRules, AttributesForbidWritingEvenToRoot) {
  OpenTarget target;
  target.mode = S_IFREG | 0644;
  target.immutable = true;
  EXPECT_EQ(predict_open(target, 0, daemon_as_root()), 0);
  EXPECT_EQ(predict_open(target, 1, daemon_as_root()), EPERM);
  target.immutable = false;
  target.append_only = true;
  EXPECT_EQ(predict_open(target, 1, daemon_as_root()), EPERM);
  EXPECT_EQ(predict_open(target, 1 | kOpenAppend, daemon_as_root()), 0);
  target.super_read_only = true;
  EXPECT_EQ(predict_open(target, 1, daemon_as_root()), EROFS);
}

}  // namespace
}  // namespace vfsmend::test
