// SPDX-License-Identifier: Apache-2.0
// Programs that we start: what they get, how they end, and that none outlives who started it.
#include "sys/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#include "support/descriptors.h"
#include "support/temp_dir.h"
#include "sys/shared_memory.h"

namespace vfsmend::sys {
namespace {

using test::descriptors_of;
using test::TempDir;

Deadline soon() { return Deadline::in(std::chrono::seconds(20)); }
Deadline now() { return Deadline::in(std::chrono::milliseconds(0)); }

ProgramStart shell(const std::string& script) {
  ProgramStart what;
  what.words = {"/bin/sh", "-c", script};
  return what;
}

ChildProcess started(const ProgramStart& what) {
  auto child = ChildProcess::start(what);
  if (!child) {
    ADD_FAILURE() << child.error().text;
    std::abort();
  }
  return std::move(*child);
}

std::string end_of(ChildProcess& child) {
  const auto status = child.wait(soon());
  return status ? describe_end(*status) : "runs";
}

// Both ends of a pipe: its reader sees an end once all that hold the other one are gone.
struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reader = UniqueFd(ends[0]);
    writer = UniqueFd(ends[1]);
  }
  // One byte, or 0 at the end of the pipe.
  [[nodiscard]] char next() const {
    const int before = ::fcntl(reader.get(), F_GETFL);
    EXPECT_EQ(::fcntl(reader.get(), F_SETFL, before | O_NONBLOCK), 0);
    const Deadline deadline = soon();
    char byte = 0;
    ssize_t got = -1;
    while ((got = ::read(reader.get(), &byte, 1)) < 0 && errno == EAGAIN && !deadline.passed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_GE(got, 0) << "neither a byte nor an end";
    return got == 1 ? byte : '\0';
  }

  UniqueFd reader;
  UniqueFd writer;
};

TEST(ChildProcess, EndsWithItsStatus) {
  ChildProcess child = started(shell("exit 3"));
  EXPECT_EQ(end_of(child), "exit status 3");
  EXPECT_EQ(end_of(child), "exit status 3") << "told again";
}

TEST(ChildProcess, AnExecThatFailsTellsItsErrno) {
  const TempDir dir;
  const std::string plain = dir.write("plain", "#!/bin/sh\n");
  const std::string no_program = dir.write("none", "neither a script nor ELF");
  ASSERT_EQ(::chmod(no_program.c_str(), 0755), 0);
  const struct {
    std::string program;
    int err;
    const char* text;
  } cases[] = {{dir / "nowhere", ENOENT, "No such file or directory"},
               {plain, EACCES, "Permission denied"},
               {dir.path(), EACCES, "Permission denied"},
               {no_program, ENOEXEC, "Exec format error"}};
  for (const auto& c : cases) {
    const std::size_t before = test::open_descriptors();
    ProgramStart what;
    what.words = {c.program};
    const auto child = ChildProcess::start(what);
    ASSERT_FALSE(child) << c.program;
    EXPECT_EQ(child.error().code, ErrorCode::kSystem);
    EXPECT_EQ(child.error().sys_errno, c.err);
    EXPECT_EQ(child.error().text, c.program + ": " + c.text);
    EXPECT_EQ(test::open_descriptors(), before);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(ChildProcess, ADescriptorThatIsNoneIsAnError) {
  ProgramStart what = shell("exit 0");
  what.descriptors = {{-1, 5}};
  const auto child = ChildProcess::start(what);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().text, "/bin/sh: Bad file descriptor");
}

// What the child has open, once it has what is expected: its loader opens libraries at first.
std::map<int, std::string> settled(const ChildProcess& child,
                                   const std::map<int, std::string>& expected) {
  const Deadline deadline = Deadline::in(std::chrono::seconds(5));
  std::map<int, std::string> seen;
  do {
    seen = descriptors_of(std::to_string(child.pid()));
  } while (seen != expected && !deadline.passed());
  return seen;
}

ProgramStart sleeper() {
  ProgramStart what;
  what.words = {"/bin/sleep", "60"};
  return what;
}

TEST(ChildProcess, NothingIsInheritedUnlessNamed) {
  const TempDir dir;
  const UniqueFd open_to_all(::open(dir.write("a", "").c_str(), O_RDONLY));  // no O_CLOEXEC
  ASSERT_TRUE(open_to_all.valid());
  const ChildProcess child = started(sleeper());
  const std::map<int, std::string> streams = {{0, "/dev/null"}, {1, "/dev/null"}, {2, "/dev/null"}};
  EXPECT_EQ(settled(child, streams), streams);
}

TEST(ChildProcess, DescriptorsStandWhereTheyWereAsked) {
  const TempDir dir;
  const UniqueFd a(::open(dir.write("a", "").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd b(::open(dir.write("b", "").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd c(::open(dir.write("c", "").c_str(), O_RDONLY | O_CLOEXEC));
  const auto expect = [&](const std::vector<std::pair<int, int>>& asked,
                          std::map<int, std::string> there) {
    for (const int stream : {0, 1, 2}) there.try_emplace(stream, "/dev/null");
    ProgramStart what = sleeper();
    what.descriptors = asked;
    const ChildProcess child = started(what);
    EXPECT_EQ(settled(child, there), there);
  };
  expect({{a.get(), a.get()}}, {{a.get(), dir / "a"}});
  expect({{a.get(), b.get()}, {b.get(), a.get()}}, {{b.get(), dir / "a"}, {a.get(), dir / "b"}});
  expect({{a.get(), b.get()}, {b.get(), c.get()}, {c.get(), a.get()}},
         {{b.get(), dir / "a"}, {c.get(), dir / "b"}, {a.get(), dir / "c"}});
  expect({{a.get(), 1}, {a.get(), 2}, {b.get(), 40}},
         {{1, dir / "a"}, {2, dir / "a"}, {40, dir / "b"}});
}

TEST(ChildProcess, ACallerWithoutStandardStreams) {
  const pid_t caller = ::fork();
  ASSERT_GE(caller, 0);
  if (caller == 0) {
    for (const int stream : {0, 1, 2}) ::close(stream);
    const auto child = ChildProcess::start(sleeper());
    const std::map<int, std::string> streams = {{0, "/dev/null"}, {1, "/dev/null"}, {2, "/dev/null"}};
    ::_exit(child && settled(*child, streams) == streams ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(caller, &status, 0), caller);
  EXPECT_EQ(describe_end(status), "exit status 0");
}

TEST(ChildProcess, SignalsThatAreBlockedHereAreNotThere) {
  sigset_t block;
  sigset_t before;
  sigemptyset(&block);
  sigaddset(&block, SIGTERM);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &block, &before), 0);
  ChildProcess child = started(shell("kill -TERM $$; exit 3"));
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  EXPECT_EQ(end_of(child), "signal 15 (Terminated)");
}

TEST(ChildProcess, AWaitTimesOutAndThenSeesTheEnd) {
  Pipe hold;
  ProgramStart what = shell("read line; exit 7");
  what.descriptors = {{hold.reader.get(), 0}};
  ChildProcess child = started(what);
  EXPECT_EQ(child.wait(now()), std::nullopt);
  EXPECT_EQ(child.wait(Deadline::in(std::chrono::milliseconds(50))), std::nullopt);
  hold.writer.reset();
  EXPECT_EQ(end_of(child), "exit status 7");
}

TEST(ChildProcess, KillEndsIt) {
  ChildProcess child = started(sleeper());
  const pid_t pid = child.pid();
  child.kill();
  EXPECT_EQ(end_of(child), "signal 9 (Killed)");
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1) << "not waited for";
  child.kill();  // nothing
}

TEST(ChildProcess, KillOfOneThatHasEndedKeepsItsStatus) {
  ChildProcess child = started(shell("exit 4"));
  EXPECT_EQ(end_of(child), "exit status 4");
  child.kill();
  EXPECT_EQ(end_of(child), "exit status 4");
}

TEST(ChildProcess, GoesWithItsObject) {
  Pipe held;
  ProgramStart what = sleeper();
  what.descriptors = {{held.writer.get(), 9}};
  {
    ChildProcess first = started(what);
    ChildProcess moved = std::move(first);
    held.writer.reset();
    EXPECT_EQ(moved.wait(now()), std::nullopt);
    moved = started(sleeper());  // the one that it was is killed
    EXPECT_EQ(held.next(), '\0');
    EXPECT_EQ(moved.wait(now()), std::nullopt);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

void expect_death_with_starter(bool own_pid_namespace) {
  Pipe held;
  const pid_t starter = ::fork();
  ASSERT_GE(starter, 0);
  if (starter == 0) {
    ProgramStart what = shell("echo x >&9; exec sleep 60");
    what.descriptors = {{held.writer.get(), 9}};
    what.own_pid_namespace = own_pid_namespace;
    const auto child = ChildProcess::start(what);
    ::pause();
    ::_exit(1);
  }
  held.writer.reset();
  EXPECT_EQ(held.next(), 'x');
  EXPECT_EQ(held.next(), '\n');
  ASSERT_EQ(::kill(starter, SIGKILL), 0);
  ASSERT_EQ(::waitpid(starter, nullptr, 0), starter);
  EXPECT_EQ(held.next(), '\0') << "it lives on";
}

TEST(ChildProcess, DiesWithItsStarter) { expect_death_with_starter(false); }

TEST(ChildProcess, DiesWithItsStarterAsTheFirstOfItsNamespace) {
  if (::geteuid() != 0) GTEST_SKIP() << "a PID namespace needs root";
  expect_death_with_starter(true);
}

TEST(ChildProcess, DiesWithTheThreadThatStartedIt) {
  std::optional<ChildProcess> child;
  std::thread([&] { child = started(sleeper()); }).join();
  EXPECT_EQ(end_of(*child), "signal 9 (Killed)");
}

TEST(ChildProcess, ANamespaceOfItsOwnEndsWithItsGrandchildren) {
  if (::geteuid() != 0) GTEST_SKIP() << "a PID namespace needs root";
  Pipe held;
  ProgramStart what = shell("[ $$ = 1 ] || exit 5; (setsid sleep 60) & echo x >&9; wait");
  what.descriptors = {{held.writer.get(), 9}};
  what.own_pid_namespace = true;
  ChildProcess child = started(what);
  held.writer.reset();
  EXPECT_EQ(held.next(), 'x');
  EXPECT_EQ(held.next(), '\n');
  child.kill();
  EXPECT_EQ(held.next(), '\0') << "the grandchild lives on";
}

}  // namespace
}  // namespace vfsmend::sys
