// SPDX-License-Identifier: Apache-2.0
// Objects are changed by what an O_PATH descriptor stands for, and nothing is followed.
#include "sys/changes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "support/temp_dir.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// Around 1970, where the nanoseconds still count forwards.
constexpr std::int64_t kTimes[] = {0, 1, -1, -kSecond, -kSecond - 1, -1'500'000'000,
                                   1'700'000'000 * kSecond + 7};

struct stat look(const std::string& path) {
  struct stat out {};
  EXPECT_EQ(::lstat(path.c_str(), &out), 0);
  return out;
}

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

// A file, a link to it, a directory and a FIFO; each held by O_PATH, and the file by a writer too.
class ChangesOf : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    dir_.write("file", "content");
    std::filesystem::create_symlink("file", dir_ / "link");
    std::filesystem::create_directory(dir_ / "directory");
    ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0600), 0);
    const bool open = name() == "open";
    path_ = dir_ / (open ? "file" : name());
    fd_ = UniqueFd(::open(path_.c_str(), (open ? O_WRONLY : O_PATH | O_NOFOLLOW) | O_CLOEXEC));
    ASSERT_TRUE(fd_.valid());
  }
  [[nodiscard]] std::string name() const { return GetParam(); }
  // What the link leads to stays as it is.
  void expect_the_file_as(const struct stat& before) const {
    if (name() != "link") return;
    const struct stat now = look(dir_ / "file");
    EXPECT_EQ(now.st_mode, before.st_mode);
    EXPECT_EQ(now.st_uid, before.st_uid);
    EXPECT_EQ(nanoseconds(now.st_mtim), nanoseconds(before.st_mtim));
  }

  test::TempDir dir_;
  std::string path_;
  UniqueFd fd_;
};

TEST_P(ChangesOf, Mode) {
  const struct stat file = look(dir_ / "file");
  const mode_t before = look(path_).st_mode;
  const int rc = kernel_changes().chmod(fd_.get(), 0640);
  const bool link = name() == "link";
  EXPECT_EQ(rc, link ? -EOPNOTSUPP : 0);
  EXPECT_EQ(look(path_).st_mode, link ? before : (before & S_IFMT) | 0640U);
  expect_the_file_as(file);
}

TEST_P(ChangesOf, Owner) {
  if (::geteuid() != 0) GTEST_SKIP() << "an owner is changed by root alone";
  const struct stat file = look(dir_ / "file");
  ASSERT_EQ(kernel_changes().chown(fd_.get(), 1234, 4321), 0);
  EXPECT_EQ(look(path_).st_uid, 1234U);
  EXPECT_EQ(look(path_).st_gid, 4321U);
  expect_the_file_as(file);
}

TEST_P(ChangesOf, Times) {
  const struct stat file = look(dir_ / "file");
  Changes& changes = kernel_changes();
  for (const std::int64_t mtime : kTimes) {
    const std::int64_t atime = nanoseconds(look(path_).st_atim);
    ASSERT_EQ(changes.set_times(fd_.get(), std::nullopt, mtime), 0);
    EXPECT_EQ(nanoseconds(look(path_).st_mtim), mtime);
    EXPECT_EQ(nanoseconds(look(path_).st_atim), atime);
    ASSERT_EQ(changes.set_times(fd_.get(), mtime + 5, std::nullopt), 0);
    EXPECT_EQ(nanoseconds(look(path_).st_mtim), mtime);
    EXPECT_EQ(nanoseconds(look(path_).st_atim), mtime + 5);
  }
  expect_the_file_as(file);
}

TEST_P(ChangesOf, Attributes) {
  if (::geteuid() != 0) GTEST_SKIP() << "trusted attributes are for root";
  Changes& changes = kernel_changes();
  std::array<char, 8> there{};
  const int rc = changes.set_xattr(fd_.get(), "trusted.note", "n");
  if (rc == -EOPNOTSUPP) GTEST_SKIP() << "no trusted attributes here";
  ASSERT_EQ(rc, 0);
  EXPECT_EQ(::lgetxattr(path_.c_str(), "trusted.note", there.data(), there.size()), 1);
  if (name() == "link") {
    EXPECT_EQ(::getxattr((dir_ / "file").c_str(), "trusted.note", there.data(), there.size()), -1);
  }
  ASSERT_EQ(changes.remove_xattr(fd_.get(), "trusted.note"), 0);
  EXPECT_EQ(changes.remove_xattr(fd_.get(), "trusted.note"), -ENODATA);
}

INSTANTIATE_TEST_SUITE_P(All, ChangesOf, testing::Values("file", "link", "directory", "fifo", "open"),
                         [](const auto& what) { return std::string(what.param); });

TEST(Changes, AnErrorIsItsNumber) {
  const test::TempDir dir;
  Changes& changes = kernel_changes();
  EXPECT_EQ(changes.unlink(AT_FDCWD, (dir / "none").c_str()), -ENOENT);
  EXPECT_EQ(changes.rename(AT_FDCWD, (dir / "none").c_str(), AT_FDCWD, (dir / "n").c_str(), 0), -ENOENT);
  EXPECT_EQ(changes.create(AT_FDCWD, dir.write("f", "").c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600), -EEXIST);
}

}  // namespace
}  // namespace vfsmend::sys
