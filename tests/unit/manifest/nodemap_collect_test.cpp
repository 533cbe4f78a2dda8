// SPDX-License-Identifier: Apache-2.0
// A node map of a real FUSE mount, whose server counts what it is asked.
#include "manifest/nodemap_collect.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>

#include "support/forwarding_calls.h"
#include "support/fuse_server.h"
#include "support/temp_dir.h"
#include "sys/unique_fd.h"

namespace vfsmend {
namespace {

using sys::UniqueFd;
using test::FuseServer;
using testing::HasSubstr;

// A process that does something, says so, and waits for its end.
class Other {
 public:
  explicit Other(const std::function<bool()>& prepare) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      const char good = prepare() ? '+' : '-';
      if (::write(ends[1], &good, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    char said = 0;
    ready_ = ::read(ends[0], &said, 1) == 1 && said == '+';
    ::close(ends[0]);
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;
  ~Other() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
};

class NodeMapOfAMount : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "not root";
    if (::access("/dev/fuse", F_OK) != 0) GTEST_SKIP() << "no /dev/fuse";
    if (::unshare(CLONE_NEWNS) != 0) GTEST_SKIP() << "no mount namespaces";
    ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    std::filesystem::create_directories(mount_);
    std::map<std::uint64_t, FuseServer::Node> nodes = {
        {2, {1, "a", false, "of a"}},
        {3, {1, "d", true, ""}},
        {4, {3, "e", true, ""}},
        {5, {4, "f b", false, std::string(5000, 'f')}},
        {6, {1, "\xff name", false, "odd"}},
        {7, {1, "sleep", false, test::read_text("/bin/sleep")}}};
    server_.emplace(mount_, std::move(nodes));
    ASSERT_TRUE(server_->mounted());
  }

  UniqueFd open(const std::string& name, int flags) {
    UniqueFd fd(::open((mount_ + "/" + name).c_str(), flags | O_CLOEXEC));
    EXPECT_TRUE(fd.valid()) << name << ": " << std::strerror(errno);
    return fd;
  }

  // The map, for which the server was asked nothing.
  NodeMap map() {
    server_->refuse();
    const int before = server_->requests();
    auto map = collect_node_map(sys::kernel(), mount_);
    EXPECT_EQ(server_->requests(), before) << "a request was made to the server";
    EXPECT_TRUE(map) << map.error().text;
    return map ? *std::move(map) : NodeMap{};
  }

  // The entries of one process, "kind path" each.
  static std::vector<std::string> of(const NodeMap& map, pid_t pid) {
    std::vector<std::string> out;
    for (const NodeMapEntry& entry : map.entries) {
      if (entry.pid == pid) out.push_back(std::string(name_of(entry.kind)) + " " + entry.path);
    }
    std::ranges::sort(out);
    return out;
  }

  // Of one process: there may be some here that not even root may look at.
  static std::vector<std::string> warnings_of(const NodeMap& map, pid_t pid) {
    std::vector<std::string> out;
    for (const std::string& text : map.warnings) {
      if (text.starts_with("/proc/" + std::to_string(pid) + "/")) out.push_back(text);
    }
    return out;
  }

  test::TempDir dir_;
  std::string mount_ = dir_ / "mount";
  std::optional<FuseServer> server_;
};

TEST_F(NodeMapOfAMount, HasEachDescriptorWithItsNumbers) {
  const UniqueFd file = open("a", O_RDWR);
  const UniqueFd deep = open("d/e/f b", O_RDONLY | O_NONBLOCK);
  const UniqueFd root = open("", O_RDONLY | O_DIRECTORY);
  const UniqueFd odd = open("\xff name", O_RDONLY);
  const UniqueFd elsewhere(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const NodeMap made = map();
  EXPECT_EQ(made.mount_point, mount_);
  EXPECT_EQ(made.fs_type, "fuse");
  EXPECT_EQ(made.source, "a test");
  EXPECT_THAT(warnings_of(made, ::getpid()), testing::IsEmpty());
  const auto expect = [&](int fd, std::uint64_t number, const std::string& path, int flags) {
    const auto at = std::ranges::find_if(made.entries, [&](const NodeMapEntry& entry) {
      return entry.pid == ::getpid() && entry.kind == HolderKind::kFd && entry.fd == fd;
    });
    ASSERT_NE(at, made.entries.end()) << path;
    EXPECT_EQ(at->node, FuseServer::node(number)) << path;
    if (number != 1) {
      EXPECT_EQ(at->ino, FuseServer::ino(number)) << path;
    }
    EXPECT_EQ(at->path, path);
    EXPECT_EQ(at->flags & (O_ACCMODE | O_NONBLOCK | O_DIRECTORY), flags) << path;
    EXPECT_FALSE(at->deleted);
  };
  expect(file.get(), 2, "a", O_RDWR);
  expect(deep.get(), 5, "d/e/f b", O_NONBLOCK);
  expect(root.get(), 1, "", O_DIRECTORY);
  expect(odd.get(), 6, "\xff name", 0);
  EXPECT_EQ(of(made, ::getpid()).size(), 4U) << "and nothing of other file systems";
}

TEST_F(NodeMapOfAMount, HasWhatOtherProcessesStandInMapAndExecute) {
  const Other stands([&] { return ::chdir((mount_ + "/d/e").c_str()) == 0; });
  const Other maps([&] {
    const int fd = ::open((mount_ + "/d/e/f b").c_str(), O_RDONLY);
    void* const at = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    return at != MAP_FAILED && *static_cast<volatile const char*>(at) == 'f' && ::close(fd) == 0;
  });
  const Other rooted([&] { return ::chroot((mount_ + "/d").c_str()) == 0; });
  const pid_t executes = ::fork();
  if (executes == 0) {
    ::execl((mount_ + "/sleep").c_str(), "sleep", "60", nullptr);
    ::_exit(1);
  }
  ASSERT_TRUE(stands.ready() && maps.ready() && rooted.ready());
  const std::string exe = "/proc/" + std::to_string(executes) + "/exe";
  for (int i = 0; i < 500 && std::filesystem::read_symlink(exe).filename() != "sleep"; ++i) {
    ::usleep(10'000);
  }
  ::usleep(200'000);  // until it sleeps: what it maps then stays
  const NodeMap made = map();
  EXPECT_THAT(of(made, stands.pid()), testing::ElementsAre("cwd d/e"));
  EXPECT_THAT(of(made, maps.pid()), testing::ElementsAre("map d/e/f b"));
  EXPECT_THAT(of(made, rooted.pid()), testing::ElementsAre("root d"));
  EXPECT_THAT(of(made, executes), testing::ElementsAre("exe sleep", "map sleep"));
  ::kill(executes, SIGKILL);
  ::waitpid(executes, nullptr, 0);
}

// A container of the guest: the same file system, bound elsewhere, in mounts that we do not see.
TEST_F(NodeMapOfAMount, HasPathsOfTheShareForOtherMountNamespaces) {
  std::filesystem::create_directories(dir_ / "elsewhere");
  const Other bound([&] {
    if (::unshare(CLONE_NEWNS) != 0) return false;
    if (::mount((mount_ + "/d").c_str(), (dir_ / "elsewhere").c_str(), nullptr, MS_BIND, nullptr) !=
        0) {
      return false;
    }
    if (::umount2(mount_.c_str(), MNT_DETACH) != 0) return false;
    return ::open((dir_ / "elsewhere/e/f b").c_str(), O_RDONLY) >= 0 &&
           ::chdir((dir_ / "elsewhere").c_str()) == 0;
  });
  ASSERT_TRUE(bound.ready());
  EXPECT_THAT(of(map(), bound.pid()), testing::ElementsAre("cwd d", "fd d/e/f b"));
}

// " (deleted)" alone does not tell a file that is unlinked from one at which a look went wrong.
TEST_F(NodeMapOfAMount, TellsUnlinkedFromLostByAnError) {
  const UniqueFd unlinked = open("a", O_RDONLY);
  const UniqueFd stays = open("sleep", O_RDONLY);
  ASSERT_EQ(::unlink((mount_ + "/a").c_str()), 0);
  server_->refuse();
  struct stat s {};
  ASSERT_NE(::stat((mount_ + "/sleep").c_str(), &s), 0);
  const NodeMap made = map();
  const auto of_number = [&](std::uint64_t number) {
    const auto at = std::ranges::find(made.entries, FuseServer::node(number), &NodeMapEntry::node);
    return at == made.entries.end() ? NodeMapEntry{} : *at;
  };
  EXPECT_EQ(of_number(2).path, "a");
  EXPECT_TRUE(of_number(2).deleted);
  EXPECT_EQ(of_number(2).nlink, 0);
  EXPECT_EQ(of_number(7).path, "sleep");
  EXPECT_TRUE(of_number(7).deleted);
  EXPECT_EQ(of_number(7).nlink, 1);
}

TEST_F(NodeMapOfAMount, TellsWhatItCouldNotLookAt) {
  class Unreadable final : public test::ForwardingCalls {
   public:
    explicit Unreadable(pid_t pid) : directory_("/proc/" + std::to_string(pid) + "/fd") {}
    int openat2(int dir, const char* path, const open_how& how) override {
      return path == directory_ ? -EACCES : kernel_.openat2(dir, path, how);
    }

   private:
    std::string directory_;
  };
  const UniqueFd file = open("a", O_RDONLY);
  Unreadable calls(::getpid());
  const auto made = collect_node_map(calls, mount_ + "//");
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_TRUE(of(*made, ::getpid()).empty());
  const std::string expected = "/proc/" + std::to_string(::getpid()) +
                               "/fd: Permission denied: what this process holds is not in the map";
  EXPECT_THAT(warnings_of(*made, ::getpid()), testing::ElementsAre(expected));
}

// Between the list of processes and the look at each any of them may end.
TEST_F(NodeMapOfAMount, ProcessesThatEndMeanwhileAreNoWarning) {
  class Gone final : public test::ForwardingCalls {
   public:
    ssize_t readlinkat(int dir, const char* path, std::span<char> out) override {
      return mine(path) ? -ENOENT : kernel_.readlinkat(dir, path, out);
    }
    int openat2(int dir, const char* path, const open_how& how) override {
      return mine(path) ? -ESRCH : kernel_.openat2(dir, path, how);
    }

   private:
    [[nodiscard]] bool mine(const char* path) const {
      return std::string_view(path).starts_with(base_);
    }
    std::string base_ = "/proc/" + std::to_string(::getpid()) + "/";
  };
  const UniqueFd file = open("a", O_RDONLY);
  Gone calls;
  const auto made = collect_node_map(calls, mount_);
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_THAT(warnings_of(*made, ::getpid()), testing::IsEmpty());
  EXPECT_TRUE(made->entries.empty());
}

TEST_F(NodeMapOfAMount, OnlyAFuseMountHasOne) {
  const auto error = [](const std::string& path) {
    const auto map = collect_node_map(sys::kernel(), path);
    EXPECT_TRUE(!map && map.error().code == ErrorCode::kUsage);
    return map ? "" : map.error().text;
  };
  EXPECT_THAT(error("/proc"),
              HasSubstr("/proc is proc: only FUSE file systems have node ids; FUSE mounts here: "));
  EXPECT_THAT(error("/proc"), HasSubstr(mount_ + " (fuse)"));
  EXPECT_THAT(error(mount_ + "/d"),
              HasSubstr("/d is no mount point (give its whole path); FUSE mounts here: "));
}

}  // namespace
}  // namespace vfsmend
