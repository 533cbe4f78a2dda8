// SPDX-License-Identifier: Apache-2.0
// Attributes of every size, of objects of every kind, and while others change them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "support/stepping_calls.h"
#include "support/temp_dir.h"
#include "sys/unique_fd.h"
#include "sys/xattrs.h"

namespace vfsmend::sys {
namespace {

using test::Step;
using test::SteppingCalls;

// A file system that keeps any attributes, as the kernel would hand them out: real ones keep few.
class Attributes final : public test::ForwardingCalls {
 public:
  ssize_t listxattrat(int, const char*, std::span<char> out) override {
    std::string names;
    for (const auto& [name, value] : values) names.append(name).push_back('\0');
    if (on_list) on_list();
    return hand_out(names, out);
  }
  ssize_t getxattrat(int, const char*, const char* name, std::span<char> out) override {
    const auto found = values.find(name);
    return found == values.end() ? -ENODATA : hand_out(found->second, out);
  }
  std::map<std::string, std::string> values;
  std::function<void()> on_list;

 private:
  static ssize_t hand_out(const std::string& text, std::span<char> out) {
    if (out.empty()) return static_cast<ssize_t>(text.size());
    if (out.size() < text.size()) return -ERANGE;
    std::memcpy(out.data(), text.data(), text.size());
    return static_cast<ssize_t>(text.size());
  }
};

Xattrs as_pairs(const std::map<std::string, std::string>& values) { return {values.begin(), values.end()}; }

TEST(Xattrs, OfEverySize) {
  Attributes calls;
  for (const std::size_t size : {0U, 1U, 255U, 256U, 257U, 4096U, 65535U, 65536U}) {
    calls.values["user.size-" + std::to_string(size)] = std::string(size, '\0');
  }
  Xattrs out;
  EXPECT_EQ(read_xattrs(calls, 0, "f", out), 0);
  EXPECT_EQ(out, as_pairs(calls.values));
}

TEST(Xattrs, AsManyAsAListMayHold) {
  Attributes calls;
  for (int i = 0; i < 5000; ++i) calls.values["user.n" + std::to_string(i)] = std::to_string(i);
  Xattrs out = {{"left over", "from before"}};
  EXPECT_EQ(read_xattrs(calls, 0, "f", out), 0);
  EXPECT_EQ(out, as_pairs(calls.values));
  EXPECT_TRUE(std::ranges::is_sorted(out));
}

TEST(Xattrs, OneThatVanishesAfterTheListingIsLeftOut) {
  Attributes calls;
  calls.values = {{"user.a", "1"}, {"user.b", "2"}};
  calls.on_list = [&] {
    calls.values.erase("user.a");
    calls.values["user.b"] = std::string(50'000, 'g');  // and one that grows
  };
  Xattrs out;
  EXPECT_EQ(read_xattrs(calls, 0, "f", out), 0);
  EXPECT_EQ(out, (Xattrs{{"user.b", std::string(50'000, 'g')}}));
}

TEST(Xattrs, WhatIsLargerThanTheKernelTakesIsAnErrorAndNoLoop) {
  Attributes calls;
  calls.values = {{"user.a", std::string(65537, 'x')}};
  Xattrs out;
  EXPECT_EQ(read_xattrs(calls, 0, "f", out), -ERANGE);
}

TEST(Xattrs, ErrorsComeBack) {
  const test::TempDir dir;
  const std::string file = dir.write("f", "");
  ASSERT_EQ(::setxattr(file.c_str(), "user.a", "1", 1, 0), 0);
  Xattrs out;
  for (const char* call : {"listxattrat", "getxattrat"}) {
    SteppingCalls calls([&](const Step& step) { return step.call == call ? -EIO : 0; });
    EXPECT_EQ(read_xattrs(calls, AT_FDCWD, file.c_str(), out), -EIO) << call;
  }
  SteppingCalls without([](const Step&) { return -EOPNOTSUPP; });
  EXPECT_EQ(read_xattrs(without, AT_FDCWD, file.c_str(), out), 0);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(read_xattrs(kernel(), AT_FDCWD, (dir / "nothing").c_str(), out), -ENOENT);
}

// Neither opened nor followed.
TEST(Xattrs, OfObjectsOfEveryKind) {
  if (::geteuid() != 0) GTEST_SKIP() << "trusted attributes need root";
  const test::TempDir dir;
  const std::string target = dir.write("file", "");
  ASSERT_EQ(::mkdir((dir / "directory").c_str(), 0700), 0);
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  ASSERT_EQ(::mknod((dir / "device").c_str(), S_IFCHR | 0600, 0), 0);
  ASSERT_EQ(::symlink("file", (dir / "link").c_str()), 0);
  const UniqueFd fd(::open(dir.path().c_str(), O_PATH | O_CLOEXEC));
  for (const char* name : {"file", "directory", "fifo", "device", "link"}) {
    ASSERT_EQ(::lsetxattr((dir / name).c_str(), "trusted.of", name, std::strlen(name), 0), 0) << name;
  }
  for (const char* name : {"file", "directory", "fifo", "device", "link"}) {
    Xattrs out;
    EXPECT_EQ(read_xattrs(kernel(), fd.get(), name, out), 0) << name;
    EXPECT_EQ(out, (Xattrs{{"trusted.of", name}}));
    const UniqueFd itself(::openat(fd.get(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    EXPECT_EQ(read_xattrs(kernel(), itself.get(), "", out), 0) << name;
    EXPECT_EQ(out, (Xattrs{{"trusted.of", name}}));
  }
}

}  // namespace
}  // namespace vfsmend::sys
