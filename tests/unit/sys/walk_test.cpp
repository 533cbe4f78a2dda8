// SPDX-License-Identifier: Apache-2.0
// Every name below a directory once, whatever the threads, the depth and the kinds of things in it.
#include "sys/walk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>

#include "support/forwarding_calls.h"
#include "support/temp_dir.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {
namespace {

using test::TempDir;

class Walks : public testing::Test {
 protected:
  UniqueFd root() const { return UniqueFd(::open(dir_.path().c_str(), O_PATH | O_DIRECTORY)); }

  std::multiset<std::string> walked(unsigned helpers, Calls& calls = kernel()) {
    std::multiset<std::string> seen;
    std::mutex mutex;
    const UniqueFd fd = root();
    unreadable_ = walk_names(calls, fd.get(), helpers,
                             [&](const std::string& path, std::span<const WalkEntry> entries) {
                               const std::lock_guard lock(mutex);
                               for (const WalkEntry& entry : entries) {
                                 seen.insert(path.empty() ? entry.name : path + "/" + entry.name);
                               }
                               return true;
                             });
    return seen;
  }

  // By the library's own walk.
  [[nodiscard]] std::multiset<std::string> listed() const {
    std::multiset<std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path())) {
      all.insert(entry.path().lexically_relative(dir_.path()).string());
    }
    return all;
  }

  // A chain of directories, made and opened step by step: its path is longer than a call takes.
  void make_chain(const std::string& from, int depth) const {
    UniqueFd at(::open(from.c_str(), O_PATH | O_DIRECTORY));
    for (int i = 0; i < depth; ++i) {
      ASSERT_EQ(::mkdirat(at.get(), "directory_in_a_chain", 0755), 0);
      ASSERT_EQ(::mkdirat(at.get(), "sibling", 0755), 0);
      at = UniqueFd(::openat(at.get(), "directory_in_a_chain", O_PATH | O_DIRECTORY));
    }
  }

  TempDir dir_;
  std::uint64_t unreadable_ = 0;
};

TEST_F(Walks, SeeEveryNameOnce) {
  for (int d = 0; d < 30; ++d) {
    for (int f = 0; f < 40; ++f) dir_.write(std::to_string(d) + "/sub/f" + std::to_string(f), "");
  }
  ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0644), 0);
  ASSERT_EQ(::symlink("..", (dir_ / "0/link").c_str()), 0);
  for (const unsigned helpers : {0U, 1U, 7U}) {
    EXPECT_EQ(walked(helpers), listed()) << helpers;
    EXPECT_EQ(unreadable_, 0U);
  }
}

TEST_F(Walks, GoWhereNoPathReaches) {
  constexpr int kDepth = 600;  // 12,000 bytes, and siblings that wait at each level
  make_chain(dir_.path(), kDepth);
  EXPECT_EQ(walked(1).size(), 2U * kDepth);
  EXPECT_EQ(unreadable_, 0U);
}

TEST_F(Walks, CountWhatCannotBeRead) {
  class Refusing final : public test::ForwardingCalls {
   public:
    int openat2(int dir, const char* path, const open_how& how) override {
      return std::strcmp(path, "secret") == 0 ? -EACCES : ForwardingCalls::openat2(dir, path, how);
    }
  };
  dir_.write("secret/f", "");
  dir_.write("open/f", "");
  Refusing calls;
  const std::multiset<std::string> seen = walked(0, calls);
  EXPECT_EQ(seen, (std::multiset<std::string>{"open", "open/f", "secret"}));
  EXPECT_EQ(unreadable_, 1U);
}

TEST_F(Walks, EndWhenToldTo) {
  for (int d = 0; d < 100; ++d) dir_.write(std::to_string(d) + "/f", "");
  const UniqueFd fd = root();
  int calls = 0;
  walk_names(kernel(), fd.get(), 0, [&](const std::string&, std::span<const WalkEntry>) {
    ++calls;
    return false;
  });
  EXPECT_EQ(calls, 1);
}

TEST_F(Walks, OpenBelowStaysBelow) {
  dir_.write("a/b/f", "");
  ASSERT_EQ(::symlink("a", (dir_ / "link").c_str()), 0);
  make_chain(dir_ / "a", 300);
  const UniqueFd fd = root();
  constexpr std::uint64_t kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const auto opened = [&](const std::string& path) {
    const UniqueFd found(open_below(kernel(), fd.get(), path, kFlags));
    return found.valid() ? 0 : found.get();
  };
  EXPECT_EQ(opened(""), 0);
  EXPECT_EQ(opened("a/b"), 0);
  EXPECT_EQ(opened("a/b/f"), -ENOTDIR);
  EXPECT_EQ(opened("a/../.."), -EXDEV);
  EXPECT_EQ(opened("link/b"), -ELOOP);
  EXPECT_EQ(opened("/etc"), -EXDEV);
  std::string deep = "a";
  for (int i = 0; i < 300; ++i) deep += "/directory_in_a_chain";
  ASSERT_GT(deep.size(), 4096U);
  EXPECT_EQ(opened(deep), 0);
}

}  // namespace
}  // namespace vfsmend::sys
