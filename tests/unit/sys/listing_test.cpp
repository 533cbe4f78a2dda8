// SPDX-License-Identifier: Apache-2.0
// Directories are read whole, whatever the buffer, and errors come back.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <map>

#include "support/stepping_calls.h"
#include "support/temp_dir.h"
#include "sys/listing.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {
namespace {

class Listing : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 300; ++i) dir_.write("name-" + std::to_string(i), "");
    for (const char* name : {"...", ".hidden", "..x", "\xff\xfe", "\n"}) dir_.write(name, "");
    dir_.write(std::string(255, 'n'), "");
  }
  static constexpr std::size_t kNames = 306;

  UniqueFd open() const { return UniqueFd(::open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }

  test::TempDir dir_;
};

TEST_F(Listing, HasEachNameOnceWithItsNumber) {
  for (const std::size_t size : {300U, 1024U, 65536U}) {
    std::vector<std::uint8_t> buffer(size);
    std::map<std::string, std::uint64_t> seen;
    const UniqueFd fd = open();
    const int end = for_each_name(kernel(), fd.get(), buffer, [&](const char* name, std::uint64_t ino) {
      EXPECT_TRUE(seen.emplace(name, ino).second) << name;
      return true;
    });
    EXPECT_EQ(end, 0);
    EXPECT_EQ(seen.size(), kNames);
    for (const auto& [name, ino] : seen) {
      struct stat s {};
      ASSERT_EQ(::fstatat(fd.get(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW), 0) << name;
      EXPECT_EQ(s.st_ino, ino) << name;
    }
  }
}

TEST_F(Listing, StopsWhereItIsTold) {
  std::array<std::uint8_t, 4096> buffer;
  std::size_t seen = 0;
  const UniqueFd fd = open();
  EXPECT_EQ(for_each_name(kernel(), fd.get(), buffer, [&](const char*, std::uint64_t) { return ++seen < 5; }), 1);
  EXPECT_EQ(seen, 5U);
}

TEST_F(Listing, GoesOnAfterASignal) {
  int calls_made = 0;
  test::SteppingCalls calls([&](const test::Step&) { return ++calls_made % 2 == 1 ? -EINTR : 0; });
  std::array<std::uint8_t, 1024> buffer;
  std::size_t seen = 0;
  const UniqueFd fd = open();
  EXPECT_EQ(for_each_name(calls, fd.get(), buffer, [&](const char*, std::uint64_t) { return ++seen > 0; }), 0);
  EXPECT_EQ(seen, kNames);
}

TEST_F(Listing, KeepsWhatItReadBeforeAnError) {
  int calls_made = 0;
  test::SteppingCalls calls([&](const test::Step&) { return ++calls_made == 3 ? -EIO : 0; });
  std::array<std::uint8_t, 1024> buffer;
  std::size_t seen = 0;
  const UniqueFd fd = open();
  EXPECT_EQ(for_each_name(calls, fd.get(), buffer, [&](const char*, std::uint64_t) { return ++seen > 0; }), -EIO);
  EXPECT_GT(seen, 0U);
  EXPECT_LT(seen, kNames);
}

TEST_F(Listing, OfWhatIsNoDirectoryIsAnError) {
  std::array<std::uint8_t, 1024> buffer;
  const auto none = [](const char*, std::uint64_t) { return true; };
  const UniqueFd file(::open((dir_ / "name-1").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(for_each_name(kernel(), file.get(), buffer, none), -ENOTDIR);
  const UniqueFd path(::open(dir_.path().c_str(), O_PATH | O_CLOEXEC));
  EXPECT_EQ(for_each_name(kernel(), path.get(), buffer, none), -EBADF);
}

}  // namespace
}  // namespace vfsmend::sys
