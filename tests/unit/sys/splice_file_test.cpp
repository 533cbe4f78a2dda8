// SPDX-License-Identifier: Apache-2.0
// Bytes replaced in a file: what stays with it, and what is left where that cannot be done.
#include "sys/splice_file.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "support/temp_dir.h"

namespace vfsmend::test {
namespace {

sys::RegularFile open_file(const std::string& path) {
  auto located = sys::locate(sys::kernel(), AT_FDCWD, path);
  EXPECT_TRUE(located);
  return *sys::open_regular(sys::kernel(), *located);
}

Result<sys::ReplacedFile> splice(const std::string& path, const std::vector<sys::Edit>& edits) {
  return sys::splice_file(sys::kernel(), sys::kernel_changes(), open_file(path), edits, "kept");
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    out.push_back(entry.path().filename());
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct stat look(const std::string& path) {
  struct stat out {};
  EXPECT_EQ(::lstat(path.c_str(), &out), 0);
  return out;
}

RC_GTEST_PROP(SpliceFile, GivesWhatReplacingInMemoryGives, (const std::string& start)) {
  const TempDir dir;
  std::string want = start;
  std::vector<sys::Edit> edits;
  for (std::size_t at = 0; at < start.size() && edits.size() < 5;) {
    const auto begin = *rc::gen::inRange(at, start.size() + 1);
    const auto end = *rc::gen::inRange(begin, start.size() + 1);
    edits.push_back({begin, end, *rc::gen::arbitrary<ByteVector>()});
    at = end + 1;
  }
  for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {
    want.replace(edit->begin, edit->end - edit->begin, as_text(edit->bytes));
  }
  const std::string path = dir.write("f", start);
  RC_ASSERT(splice(path, edits).has_value());
  RC_ASSERT(read_text(path) == want);
  RC_ASSERT(read_text(dir / "kept") == start);
}

TEST(SpliceFile, TheOriginalKeepsItsInodeAndTheNewFileItsLooks) {
  const TempDir dir;
  const std::string path = dir.write("f", "0123456789");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 1234, 4321), 0);
  }
  ASSERT_EQ(::chmod(path.c_str(), 02741), 0);
  const bool xattrs = ::setxattr(path.c_str(), "user.note", "n", 1, 0) == 0;
  const struct stat before = look(path);
  const auto done = splice(path, {{2, 4, {'x'}}});
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(done->path, path);
  EXPECT_EQ(done->kept, dir / "kept");
  EXPECT_EQ(read_text(path), "01x456789");
  EXPECT_EQ(look(dir / "kept").st_ino, before.st_ino);
  const struct stat after = look(path);
  EXPECT_EQ(after.st_ino, done->stamp.inode);
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_gid, before.st_gid);
  char note = 0;
  EXPECT_EQ(::getxattr(path.c_str(), "user.note", &note, 1), xattrs ? 1 : -1);
}

// {version 2}, then {tag, permissions, id} each: user, group, mask and others as the mode has them,
// and one named user.
std::string acl(char named_user) {
  const auto entry = [](int tag, char permissions, const char* id) {
    return std::string{static_cast<char>(tag), '\0', permissions, '\0'} + std::string(id, 4);
  };
  const char* none = "\xff\xff\xff\xff";
  return std::string("\2\0\0\0", 4) + entry(1, 6, none) + entry(2, named_user, "\x39\x05\0\0") +
         entry(4, 0, none) + entry(16, 6, none) + entry(32, 0, none);
}

// What the group's bits of the mode show is the mask: they are no right of the group.
TEST(SpliceFile, AnAclStaysAndTheDirectorysIsNotTaken) {
  const TempDir dir;
  const std::string with = dir.write("with/f", "0123456789");
  const std::string without = dir.write("without/f", "0123456789");
  ASSERT_EQ(::chmod(without.c_str(), 0660), 0);
  const std::string mine = acl(4);
  const std::string directorys = acl(7);
  if (::setxattr(with.c_str(), "system.posix_acl_access", mine.data(), mine.size(), 0) != 0) {
    GTEST_SKIP() << "no ACLs here";
  }
  ASSERT_EQ(::setxattr((dir / "without").c_str(), "system.posix_acl_default", directorys.data(),
                       directorys.size(), 0),
            0);
  ASSERT_TRUE(splice(with, {{0, 1, {}}}));
  ASSERT_TRUE(splice(without, {{0, 1, {}}}));
  std::string there(mine.size(), '\0');
  EXPECT_EQ(::getxattr(with.c_str(), "system.posix_acl_access", there.data(), there.size()),
            static_cast<ssize_t>(mine.size()));
  EXPECT_EQ(there, mine);
  EXPECT_EQ(look(with).st_mode & 0777, 0660U);
  EXPECT_EQ(::getxattr(without.c_str(), "system.posix_acl_access", nullptr, 0), -1);
  EXPECT_EQ(errno, ENODATA);
  EXPECT_EQ(look(without).st_mode & 0777, 0660U);
}

TEST(SpliceFile, ALinkToItStaysALink) {
  const TempDir dir;
  const std::string path = dir.write("real/f", "0123456789");
  std::filesystem::create_symlink("real/f", dir / "link");
  const auto done = splice(dir / "link", {{0, 5, {}}});
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(done->path, path);
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(read_text(path), "56789");
  EXPECT_THAT(names_in(dir / "real"), testing::ElementsAre("f", "kept"));
}

TEST(SpliceFile, OtherNamesOfTheFileKeepTheOldOne) {
  const TempDir dir;
  const std::string path = dir.write("f", "old");
  std::filesystem::create_hard_link(path, dir / "clone");
  ASSERT_TRUE(splice(path, {{0, 3, {'n'}}}));
  EXPECT_EQ(read_text(dir / "clone"), "old");
}

// Guest memory that was never written to.
TEST(SpliceFile, HolesStayHoles) {
  constexpr std::uint64_t kSize = std::uint64_t{8} << 30;
  const TempDir dir;
  const std::string path = dir.write("f", "head");
  std::filesystem::resize_file(path, kSize);
  std::ofstream(path, std::ios::binary | std::ios::app) << "old tail";
  std::filesystem::resize_file(path, kSize + 8 + (1 << 20));
  const auto done = splice(path, {{kSize, kSize + 3, {'a', ' ', 'n', 'e', 'w'}}});
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(done->stamp.size, kSize + 10 + (1 << 20));
  EXPECT_LE(look(path).st_blocks, 1024);
  std::ifstream in(path, std::ios::binary);
  std::string text(10, '\0');
  EXPECT_TRUE(in.read(text.data(), 4));
  EXPECT_EQ(text.substr(0, 4), "head");
  EXPECT_TRUE(in.seekg(static_cast<std::streamoff>(kSize)).read(text.data(), 10));
  EXPECT_EQ(text, "a new tail");
}

// A tmpfs of 256 KiB on a directory, as long as it lives.
class SmallFileSystem {
 public:
  explicit SmallFileSystem(std::string at) : at_(std::move(at)) {
    std::filesystem::create_directory(at_);
    mounted_ = ::mount("vfsmend", at_.c_str(), "tmpfs", 0, "size=256k") == 0;
  }
  SmallFileSystem(const SmallFileSystem&) = delete;
  SmallFileSystem& operator=(const SmallFileSystem&) = delete;
  ~SmallFileSystem() {
    if (mounted_) ::umount2(at_.c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] bool make_readonly() const {
    return ::mount(nullptr, at_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

 private:
  std::string at_;
  bool mounted_ = false;
};

void expect_left_alone(const TempDir& dir, const std::string& path, int error) {
  const std::string before = read_text(path);
  const auto done = splice(path, {{0, 1, {'x'}}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kSystem);
  EXPECT_EQ(done.error().sys_errno, error) << done.error().text;
  EXPECT_THAT(done.error().text, testing::StartsWith(path + ": "));
  EXPECT_TRUE(read_text(path) == before);
  EXPECT_THAT(names_in(dir / "small"), testing::ElementsAre("f"));
}

TEST(SpliceFile, AFullFileSystemLeavesTheOriginal) {
  const TempDir dir;
  const SmallFileSystem small(dir / "small");
  if (!small.mounted()) GTEST_SKIP() << "cannot mount: " << ::strerror(errno);
  expect_left_alone(dir, dir.write("small/f", std::string(200 << 10, 'o')), ENOSPC);
}

TEST(SpliceFile, AReadOnlyFileSystemLeavesTheOriginal) {
  const TempDir dir;
  const SmallFileSystem small(dir / "small");
  if (!small.mounted()) GTEST_SKIP() << "cannot mount: " << ::strerror(errno);
  const std::string path = dir.write("small/f", "old");
  ASSERT_TRUE(small.make_readonly());
  expect_left_alone(dir, path, EROFS);
}

}  // namespace
}  // namespace vfsmend::test
