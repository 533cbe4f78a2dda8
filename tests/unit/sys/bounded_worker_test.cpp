// SPDX-License-Identifier: Apache-2.0
// Every way in which a worker can end, each of them seen from the parent.
#include "sys/bounded_worker.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

namespace vfsmend::sys {
namespace {

using End = WorkerResult::End;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLong{60'000};

WorkerResult run(milliseconds deadline, const std::function<void(WorkerChannel&)>& work) {
  Result<WorkerResult> result = run_bounded(deadline, work);
  EXPECT_TRUE(result) << (result ? "" : result.error().text);
  return result ? *result : WorkerResult{};
}

void sleep_for_ever() {
  for (;;) ::pause();
}

std::string temporary_file() {
  std::string name = (std::filesystem::temp_directory_path() / "vfsmend-worker-XXXXXX").string();
  const int fd = ::mkstemp(name.data());
  EXPECT_GE(fd, 0);
  ::close(fd);
  return name;
}

// Waits until `pid` is no process, or one that is dead and not waited for.
bool dies_within(pid_t pid, milliseconds time) {
  const auto until = steady_clock::now() + time;
  while (steady_clock::now() < until) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number;
    std::string name;
    std::string state;
    if (!(stat >> number >> name >> state) || state == "Z") return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

TEST(BoundedWorker, OutputOfAWorkerThatIsDone) {
  const WorkerResult r = run(kLong, [](WorkerChannel& channel) {
    channel.send("one ");
    channel.send("");
    channel.send("two");
  });
  EXPECT_EQ(r.end, End::kDone);
  EXPECT_EQ(r.output, "one two");
  EXPECT_EQ(r.last_stage, "");
  EXPECT_EQ(r.signal, 0);
}

TEST(BoundedWorker, NoDeadlineIsNoDeadline) {
  const WorkerResult r = run(milliseconds(0), [](WorkerChannel& channel) {
    std::this_thread::sleep_for(milliseconds(50));
    channel.send("done");
  });
  EXPECT_EQ(r.end, End::kDone);
  EXPECT_EQ(r.output, "done");
}

TEST(BoundedWorker, DeadlineOfASleeper) {
  const auto begin = steady_clock::now();
  const WorkerResult r = run(milliseconds(100), [](WorkerChannel& channel) {
    channel.send("before");
    channel.stage("sleep");
    sleep_for_ever();
  });
  const auto took = steady_clock::now() - begin;
  EXPECT_EQ(r.end, End::kDeadline);
  EXPECT_EQ(r.output, "before");
  EXPECT_EQ(r.last_stage, "sleep");
  EXPECT_EQ(r.signal, 0) << "our own SIGKILL is not news";
  EXPECT_GE(took, milliseconds(100));
  EXPECT_LT(took, milliseconds(2000));
}

TEST(BoundedWorker, DeadlineOfOneThatIgnoresSignals) {
  const std::string file = temporary_file();
  const WorkerResult r = run(milliseconds(300), [&](WorkerChannel&) {
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_IGN);
    std::ofstream(file) << ::getpid() << std::flush;
    sleep_for_ever();
  });
  EXPECT_EQ(r.end, End::kDeadline);
  pid_t pid = 0;
  ASSERT_TRUE(std::ifstream(file) >> pid);
  EXPECT_TRUE(dies_within(pid, milliseconds(2000)));
  std::filesystem::remove(file);
}

TEST(BoundedWorker, DeadlineOfOneThatNeverStopsTalking) {
  const WorkerResult r = run(milliseconds(100), [](WorkerChannel& channel) {
    for (;;) channel.send("x");
  });
  EXPECT_EQ(r.end, End::kDeadline);
  EXPECT_FALSE(r.output.empty());
}

TEST(BoundedWorker, AHundredMegabytes) {
  std::string big;
  big.resize(100'000'000, 'v');
  const WorkerResult r = run(kLong, [&](WorkerChannel& channel) {
    channel.send(std::string_view(big).substr(0, 7));
    channel.send(std::string_view(big).substr(7));
  });
  EXPECT_EQ(r.end, End::kDone);
  EXPECT_TRUE(r.output == big);  // not EXPECT_EQ: it would print both
}

TEST(BoundedWorker, ACrash) {
  for (const int number : {SIGSEGV, SIGABRT, SIGKILL, SIGBUS}) {
    const WorkerResult r = run(kLong, [number](WorkerChannel& channel) {
      channel.stage("about to die");
      channel.send("half a rep");
      ::signal(number, SIG_DFL);  // a sanitizer's own handler
      ::raise(number);
    });
    EXPECT_EQ(r.end, End::kCrashed);
    EXPECT_EQ(r.signal, number);
    EXPECT_EQ(r.last_stage, "about to die");
    EXPECT_EQ(r.output, "half a rep");
  }
}

TEST(BoundedWorker, AnException) {
  const WorkerResult r = run(kLong, [](WorkerChannel&) { throw 1; });
  EXPECT_EQ(r.end, End::kCrashed);
  EXPECT_EQ(r.signal, SIGABRT);
}

TEST(BoundedWorker, ExitWithoutAWord) {
  const WorkerResult r = run(kLong, [](WorkerChannel&) { ::_exit(0); });
  EXPECT_EQ(r.end, End::kCrashed);
  EXPECT_EQ(r.signal, 0);
}

TEST(BoundedWorker, ATornFrame) {
  const WorkerResult r = run(kLong, [](WorkerChannel& channel) {
    channel.send("whole");
    const std::array<std::uint32_t, 2> header{1, 100};
    ASSERT_EQ(::write(3, header.data(), sizeof header), ssize_t{sizeof header});
    ASSERT_EQ(::write(3, "torn", 4), 4);
    ::_exit(0);
  });
  EXPECT_EQ(r.end, End::kCrashed);
  EXPECT_EQ(r.output, "wholetorn");
}

TEST(BoundedWorker, FramesThatAreNone) {
  const std::array<std::array<std::uint32_t, 2>, 4> headers{
      {{1, 0xffffffff}, {1, 0}, {7, 4}, {2, 4}}};
  for (const auto& header : headers) {
    const WorkerResult r = run(kLong, [&](WorkerChannel&) {
      if (::write(3, header.data(), sizeof header) < 0) ::_exit(1);
      sleep_for_ever();
    });
    EXPECT_EQ(r.end, End::kCrashed) << header[0] << ' ' << header[1];
    EXPECT_EQ(r.signal, 0) << "killed by us";
  }
}

TEST(BoundedWorker, TheLastStageIsTold) {
  const std::string path(5000, 'p');
  const WorkerResult r = run(kLong, [&](WorkerChannel& channel) {
    for (int i = 0; i < 100'000; ++i) channel.stage("inode " + std::to_string(i));
    channel.send("x");
    channel.stage(path);
  });
  EXPECT_EQ(r.end, End::kDone);
  EXPECT_EQ(r.last_stage, path.substr(0, 4352));
}

TEST(BoundedWorker, DescriptorsOfTheChild) {
  const int extra = ::dup(1);  // without close-on-exec, and open in the caller
  ASSERT_GE(extra, 0);
  const WorkerResult r = run(kLong, [](WorkerChannel& channel) {
    DIR* dir = ::opendir("/proc/self/fd");
    for (const dirent* entry = ::readdir(dir); entry != nullptr; entry = ::readdir(dir)) {
      std::array<char, 256> target{};
      const std::string name = entry->d_name;
      if (::readlinkat(::dirfd(dir), name.c_str(), target.data(), target.size() - 1) < 0) continue;
      if (name == std::to_string(::dirfd(dir))) continue;
      channel.send(name + " " + std::string(target.data()).substr(0, 6) + "\n");
    }
  });
  ::close(extra);
  ASSERT_EQ(r.end, End::kDone);
  EXPECT_EQ(r.output, "0 /dev/n\n1 /dev/n\n2 /dev/n\n3 pipe:[\n");
}

TEST(BoundedWorker, ACallerWithoutStandardStreams) {
  std::array<int, 3> kept{};
  for (int i = 0; i < 3; ++i) kept[static_cast<std::size_t>(i)] = ::dup(i);
  for (int i = 0; i < 3; ++i) ::close(i);
  const Result<WorkerResult> r =
      run_bounded(kLong, [](WorkerChannel& channel) { channel.send("heard"); });
  for (int i = 0; i < 3; ++i) {
    ::dup2(kept[static_cast<std::size_t>(i)], i);
    ::close(kept[static_cast<std::size_t>(i)]);
  }
  ASSERT_TRUE(r);
  EXPECT_EQ(r->end, End::kDone);
  EXPECT_EQ(r->output, "heard");
}

TEST(BoundedWorker, CancelBySignal) {
  for (const int number : {SIGTERM, SIGINT}) {
    struct sigaction before {};
    ASSERT_EQ(::sigaction(number, nullptr, &before), 0);
    const WorkerResult r = run(kLong, [number](WorkerChannel& channel) {
      channel.stage("long work");
      ::kill(::getppid(), number);
      sleep_for_ever();
    });
    EXPECT_EQ(r.end, End::kCancelled);
    EXPECT_EQ(r.last_stage, "long work");
    struct sigaction after {};
    ASSERT_EQ(::sigaction(number, nullptr, &after), 0);
    EXPECT_EQ(before.sa_handler, after.sa_handler);
    sigset_t blocked;
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
    EXPECT_FALSE(sigismember(&blocked, number));
    sigset_t pending;
    ASSERT_EQ(::sigpending(&pending), 0);
    EXPECT_FALSE(sigismember(&pending, number));
  }
}

TEST(BoundedWorker, AnIgnoredSignalStaysIgnored) {
  auto* before = ::signal(SIGINT, SIG_IGN);
  const WorkerResult r = run(kLong, [](WorkerChannel& channel) {
    ::kill(::getppid(), SIGINT);
    channel.send("went on");
  });
  ::signal(SIGINT, before);
  EXPECT_EQ(r.end, End::kDone);
  EXPECT_EQ(r.output, "went on");
}

TEST(BoundedWorker, TheChildHasDefaultHandlers) {
  auto* before = ::signal(SIGUSR1, [](int) {});
  const WorkerResult r = run(kLong, [](WorkerChannel&) {
    ::raise(SIGUSR1);
    sleep_for_ever();
  });
  ::signal(SIGUSR1, before);
  EXPECT_EQ(r.end, End::kCrashed);
  EXPECT_EQ(r.signal, SIGUSR1);
}

TEST(BoundedWorker, DiesWithItsParent) {
  const std::string file = temporary_file();
  const pid_t middle = ::fork();
  ASSERT_GE(middle, 0);
  if (middle == 0) {
    (void)run_bounded(kLong, [&](WorkerChannel&) {
      std::ofstream(file) << ::getpid() << '\n' << std::flush;
      sleep_for_ever();
    });
    ::_exit(0);
  }
  pid_t worker = 0;
  for (int i = 0; i < 2000 && worker == 0; ++i) {
    std::this_thread::sleep_for(milliseconds(2));
    std::ifstream in(file);
    std::string line;
    if (std::getline(in, line) && !in.eof()) worker = std::stoi(line);
  }
  ASSERT_NE(worker, 0);
  ASSERT_EQ(::kill(middle, SIGKILL), 0);
  ASSERT_EQ(::waitpid(middle, nullptr, 0), middle);
  EXPECT_TRUE(dies_within(worker, milliseconds(5000)));
  std::filesystem::remove(file);
}

std::string exit_mark;  // NOLINT: written by an exit handler, which takes no argument
pid_t exit_owner = 0;

TEST(BoundedWorker, NoExitHandlersInTheChild) {
  exit_mark = temporary_file();
  exit_owner = ::getpid();
  ASSERT_EQ(std::atexit([] {
    if (::getpid() != exit_owner) std::ofstream(exit_mark) << "ran";
    if (::getpid() == exit_owner) std::filesystem::remove(exit_mark);
  }), 0);
  EXPECT_EQ(run(kLong, [](WorkerChannel&) {}).end, End::kDone);
  EXPECT_EQ(run(kLong, [](WorkerChannel&) { ::raise(SIGKILL); }).end, End::kCrashed);
  EXPECT_EQ(std::filesystem::file_size(exit_mark), 0U);
}

TEST(BoundedWorker, LeavesNoDescriptorAndNoLivingChild) {
  const auto count = [] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      names.insert(entry.path().filename().string());
    }
    return names.size();
  };
  const std::size_t before = count();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(run(kLong, [](WorkerChannel& c) { c.send("x"); }).end, End::kDone);
    EXPECT_EQ(run(milliseconds(2), [](WorkerChannel&) { sleep_for_ever(); }).end, End::kDeadline);
  }
  EXPECT_EQ(count(), before);
  // One that was killed on a busy machine may be gone only after nobody waited for it any more.
  const auto until = steady_clock::now() + milliseconds(5000);
  pid_t left = ::waitpid(-1, nullptr, WNOHANG);
  while (left >= 0 && steady_clock::now() < until) {
    if (left == 0) std::this_thread::sleep_for(milliseconds(5));
    left = ::waitpid(-1, nullptr, WNOHANG);
  }
  EXPECT_EQ(left, -1) << "a child lives on";
}

}  // namespace
}  // namespace vfsmend::sys
