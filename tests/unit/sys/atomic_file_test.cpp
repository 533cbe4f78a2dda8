// SPDX-License-Identifier: Apache-2.0
// A file is replaced whole, or it stays as it was, and nothing is left beside it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "support/temp_dir.h"
#include "sys/atomic_file.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {
namespace {

class AtomicFile : public testing::Test {
 protected:
  static mode_t mode_of(const std::string& file) {
    struct stat s {};
    EXPECT_EQ(::lstat(file.c_str(), &s), 0);
    return s.st_mode & 07777;
  }
  static std::size_t names_in(const std::string& directory) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) count += !entry.path().empty();
    return count;
  }

  test::TempDir dir_;
  std::string file_ = dir_ / "f";
};

TEST_F(AtomicFile, IsMadeForItsOwnerAlone) {
  const mode_t mask = ::umask(0);
  for (const FileMode mode : {FileMode::kPrivate, FileMode::kAsBefore}) {
    ::unlink(file_.c_str());
    ASSERT_TRUE(replace_file(kernel_changes(), file_, "new", mode));
    EXPECT_EQ(test::read_text(file_), "new");
    EXPECT_EQ(mode_of(file_), 0600U);
  }
  ::umask(mask);
  EXPECT_EQ(names_in(dir_.path()), 1U);
}

TEST_F(AtomicFile, KeepsTheModeWhereItIsAskedTo) {
  const mode_t mask = ::umask(077);
  for (const mode_t mode : {0644U, 0400U, 0666U, 04755U}) {
    dir_.write("f", "old");
    ASSERT_EQ(::chmod(file_.c_str(), mode), 0);
    ASSERT_TRUE(replace_file(kernel_changes(), file_, "new", FileMode::kAsBefore));
    EXPECT_EQ(mode_of(file_), mode & 0777) << "no setuid bit is handed on";
    ASSERT_TRUE(replace_file(kernel_changes(), file_, "newer", FileMode::kPrivate));
    EXPECT_EQ(mode_of(file_), 0600U);
    EXPECT_EQ(test::read_text(file_), "newer");
  }
  ::umask(mask);
}

TEST_F(AtomicFile, IsAnotherFileSoThatReadersKeepTheOld) {
  dir_.write("f", "old");
  const UniqueFd reader(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::link(file_.c_str(), (dir_ / "name").c_str()), 0);
  ASSERT_TRUE(replace_file(kernel_changes(), file_, std::string(1 << 20, 'n'), FileMode::kPrivate));
  char bytes[8] = {};
  EXPECT_EQ(::read(reader.get(), bytes, sizeof bytes), 3);
  EXPECT_EQ(test::read_text(dir_ / "name"), "old");
  EXPECT_EQ(std::filesystem::file_size(file_), 1U << 20);
}

TEST_F(AtomicFile, OfNothing) {
  ASSERT_TRUE(replace_file(kernel_changes(), file_, "", FileMode::kPrivate));
  EXPECT_EQ(test::read_text(file_), "");
}

TEST_F(AtomicFile, StandsInTheWorkingDirectoryWithoutASlash) {
  const UniqueFd before(::open(".", O_PATH | O_CLOEXEC));
  ASSERT_EQ(::chdir(dir_.path().c_str()), 0);
  const auto done = replace_file(kernel_changes(), "plain", "x", FileMode::kPrivate);
  ASSERT_EQ(::fchdir(before.get()), 0);
  EXPECT_TRUE(done);
  EXPECT_EQ(test::read_text(dir_ / "plain"), "x");
}

// A rename over one of these would be felt by others, or lose what it leads to.
TEST_F(AtomicFile, ReplacesRegularFilesOnly) {
  dir_.write("target", "old");
  ASSERT_EQ(::symlink("target", (dir_ / "link").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", (dir_ / "dangling").c_str()), 0);
  ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  ASSERT_EQ(::mkdir((dir_ / "directory").c_str(), 0700), 0);
  const std::size_t before = names_in(dir_.path());
  for (const char* name : {"link", "dangling", "fifo", "directory"}) {
    const auto done = replace_file(kernel_changes(), dir_ / name, "new", FileMode::kPrivate);
    ASSERT_FALSE(done) << name;
    EXPECT_EQ(done.error().code, ErrorCode::kUsage);
    EXPECT_EQ(done.error().text, (dir_ / name) + ": is not a regular file");
  }
  EXPECT_FALSE(replace_file(kernel_changes(), "/dev/null", "new", FileMode::kPrivate));
  EXPECT_EQ(names_in(dir_.path()), before);
  EXPECT_EQ(test::read_text(dir_ / "target"), "old");
}

TEST_F(AtomicFile, SaysWhatIsWrong) {
  const auto done = replace_file(kernel_changes(), dir_ / "no/such/f", "new", FileMode::kPrivate);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().sys_errno, ENOENT);
  EXPECT_NE(done.error().text.find("no/such/f: "), std::string::npos);
  const auto below = replace_file(kernel_changes(), dir_.write("f", "") + "/x", "new", FileMode::kPrivate);
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().sys_errno, ENOTDIR);
}

TEST_F(AtomicFile, LongNamesAreReplacedToo) {
  const std::string file = dir_ / std::string(255, 'n');
  ASSERT_TRUE(replace_file(kernel_changes(), file, "new", FileMode::kPrivate));
  ASSERT_TRUE(replace_file(kernel_changes(), file, "newer", FileMode::kPrivate));
  EXPECT_EQ(test::read_text(file), "newer");
  EXPECT_EQ(names_in(dir_.path()), 1U);
}

TEST_F(AtomicFile, CopiesAFile) {
  const std::string content(3'000'000, 'c');
  const UniqueFd from(::open(dir_.write("from", content).c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(copy_to_file(kernel_changes(), from.get(), content.size(), file_));
  EXPECT_EQ(test::read_text(file_), content);
  EXPECT_EQ(mode_of(file_), 0600U);
  const auto cut = copy_to_file(kernel_changes(), from.get(), content.size() + 1, dir_ / "longer");
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::kFormat);
  EXPECT_EQ(names_in(dir_.path()), 2U);
}

TEST_F(AtomicFile, CopyIsWatchedAndMayBeRefused) {
  const std::string content(3'000'000, 'c');
  const UniqueFd from(::open(dir_.write("from", content).c_str(), O_RDONLY | O_CLOEXEC));
  std::string seen;
  CopyWatch watch{[&](Bytes piece) { seen += as_text(piece); }, nullptr};
  ASSERT_TRUE(copy_to_file(kernel_changes(), from.get(), content.size(), file_, watch));
  EXPECT_TRUE(seen == content);
  watch.last = []() -> Result<void> { return fail(ErrorCode::kSystem, "not this one"); };
  const auto refused = copy_to_file(kernel_changes(), from.get(), 1, file_, watch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, file_ + ": not this one");
  EXPECT_TRUE(test::read_text(file_) == content) << "what was there stays";
  EXPECT_EQ(names_in(dir_.path()), 2U);
}

// In a child with mounts of its own, on a file system of 64 KiB. A failure there is its exit status.
class SmallFileSystem : public AtomicFile {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  }

  void expect_stays(const std::string& content, unsigned long remount, int err) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(play(content, remount, err));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == kCannot) GTEST_SKIP() << "no mount namespace";
    EXPECT_EQ(status, 0) << "step " << WEXITSTATUS(status);
  }

 private:
  static constexpr int kCannot = 99;

  int play(const std::string& content, unsigned long remount, int err) {
    if (::unshare(CLONE_NEWNS) != 0) return kCannot;
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return kCannot;
    const std::string place = dir_ / "small";
    if (::mkdir(place.c_str(), 0700) != 0) return 1;
    if (::mount("small", place.c_str(), "tmpfs", 0, "size=64k") != 0) return kCannot;
    const std::string file = place + "/f";
    if (!replace_file(kernel_changes(), file, "old", FileMode::kPrivate)) return 2;
    if (remount != 0 && ::mount("small", place.c_str(), nullptr, MS_REMOUNT | remount, nullptr) != 0) return 3;
    const auto done = replace_file(kernel_changes(), file, content, FileMode::kPrivate);
    if (done) return 4;
    if (done.error().code != ErrorCode::kSystem || done.error().sys_errno != err) return 5;
    if (!done.error().text.starts_with(file + ": ")) return 6;
    if (test::read_text(file) != "old") return 7;
    return names_in(place) == 1 ? 0 : 8;
  }
};

TEST_F(SmallFileSystem, ThatIsFullKeepsTheOld) { expect_stays(std::string(200'000, 'x'), 0, ENOSPC); }

TEST_F(SmallFileSystem, ThatIsReadOnlyKeepsTheOld) { expect_stays("new", MS_RDONLY, EROFS); }

TEST_F(AtomicFile, NewOneOfPiecesAppearsWholeOrNotAtAll) {
  const std::string wanted(3 * (1 << 20) + 7, 'x');
  const auto give = [&](std::uint64_t at, std::span<std::uint8_t> out) -> Result<void> {
    std::copy_n(wanted.begin() + static_cast<std::ptrdiff_t>(at), out.size(), out.begin());
    return {};
  };
  const auto agree = []() -> Result<void> { return {}; };
  const auto refuse = []() -> Result<void> { return fail(ErrorCode::kSystem, "changed"); };
  const auto break_off = [&](std::uint64_t at, std::span<std::uint8_t> out) -> Result<void> {
    if (at > (1 << 20)) return fail(ErrorCode::kFormat, "torn");
    return give(at, out);
  };
  EXPECT_EQ(write_new_file(kernel_changes(), file_, wanted.size(), break_off, agree).error().text, "torn");
  EXPECT_EQ(write_new_file(kernel_changes(), file_, wanted.size(), give, refuse).error().text, "changed");
  EXPECT_EQ(names_in(dir_.path()), 0U);
  ASSERT_TRUE(write_new_file(kernel_changes(), file_, wanted.size(), give, agree));
  EXPECT_TRUE(test::read_text(file_) == wanted);
  EXPECT_EQ(mode_of(file_), 0600U);
  EXPECT_EQ(write_new_file(kernel_changes(), file_, 1, give, agree).error().code, ErrorCode::kUsage);
  EXPECT_TRUE(test::read_text(file_) == wanted);
  EXPECT_EQ(names_in(dir_.path()), 1U);
}

}  // namespace
}  // namespace vfsmend::sys
