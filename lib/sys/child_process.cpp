// SPDX-License-Identifier: Apache-2.0
#include "sys/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace vfsmend::sys {
namespace {

// How long a killed child may take to be gone. One in an uninterruptible call stays behind.
constexpr std::chrono::milliseconds kGoneAfterKill{500};

struct Forked {
  pid_t pid;
  int pidfd;
};

// fork(2) with a pidfd, perhaps into a new PID namespace. The child goes on to exec at once, so
// that what glibc does around a fork is not missed.
Forked fork_with_pidfd(bool own_pid_namespace) {
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_PIDFD | (own_pid_namespace ? CLONE_NEWPID : 0);
  args.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  const long pid = ::syscall(SYS_clone3, &args, sizeof args);
  return {static_cast<pid_t>(pid < 0 ? -errno : pid), pidfd};
}

// The child's part: only calls that are safe after a fork. Says errno into `failure` and dies.
class Child {
 public:
  // Made before the fork: behind it no memory may be asked for.
  Child(const ProgramStart& what, char* const* argv, int failure)
      : what_(what), argv_(argv), failure_(failure), lifted_(what.descriptors.size(), -1) {}

  [[noreturn]] void run() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    place_descriptors();
    ::execv(argv_[0], argv_);
    give_up();
  }

 private:
  // All sources are first moved out of the way of all targets: 3 -> 4 and 4 -> 3 both have to work.
  // What is not placed goes with the exec, also where it was opened without O_CLOEXEC.
  void place_descriptors() {
    if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) give_up();
    int above = 3;
    for (const auto& [source, target] : what_.descriptors) above = std::max(above, target + 1);
    failure_ = lifted(failure_, above);
    for (std::size_t i = 0; i < lifted_.size(); ++i) {
      lifted_[i] = lifted(what_.descriptors[i].first, above);
    }
    for (std::size_t i = 0; i < lifted_.size(); ++i) {
      if (::dup3(lifted_[i], what_.descriptors[i].second, 0) < 0) give_up();  // without FD_CLOEXEC
    }
    place_streams(above);
  }
  void place_streams(int above) {
    int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) give_up();
    null = lifted(null, above);  // it may be a standard stream itself, and would go with the exec
    for (int stream = 0; stream < 3; ++stream) {
      const bool named = std::any_of(what_.descriptors.begin(), what_.descriptors.end(),
                                     [stream](const auto& pair) { return pair.second == stream; });
      if (!named && ::dup2(null, stream) < 0) give_up();
    }
  }
  [[nodiscard]] int lifted(int fd, int at_least) const {
    const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, at_least);
    if (high < 0) give_up();
    return high;
  }
  [[noreturn]] void give_up() const {
    const int err = errno;
    [[maybe_unused]] const ssize_t ignored = ::write(failure_, &err, sizeof err);
    ::_exit(127);
  }

  const ProgramStart& what_;
  char* const* argv_;
  int failure_;
  std::vector<int> lifted_;  // by position in the descriptors of `what_`
};

}  // namespace

Result<ChildProcess> ChildProcess::start(const ProgramStart& what) {
  std::vector<char*> argv;
  for (const std::string& word : what.words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  UniqueFd from_child(ends[0]);
  UniqueFd to_parent(ends[1]);
  Child in_child(what, argv.data(), to_parent.get());
  const Forked forked = fork_with_pidfd(what.own_pid_namespace);
  if (forked.pid < 0) return fail_errno(-forked.pid, "clone3");
  if (forked.pid == 0) in_child.run();
  ChildProcess child(forked.pid, UniqueFd(forked.pidfd));
  to_parent.reset();
  // Closed by the exec; an errno comes where there was none.
  int err = 0;
  ssize_t got = 0;
  do {
    got = ::read(from_child.get(), &err, sizeof err);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof err) return fail_errno(err, what.words[0]);
  return child;
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    kill();
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::move(other.pidfd_);
    status_ = other.status_;
  }
  return *this;
}

std::optional<int> ChildProcess::wait(Deadline deadline) {
  if (status_ || pid_ < 0) return status_;
  pollfd ended{pidfd_.get(), POLLIN, 0};
  while (::poll(&ended, 1, deadline.poll_timeout()) < 0 && errno == EINTR) {
  }
  if (int status = 0; ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

void ChildProcess::kill() {
  if (pid_ < 0 || status_) return;
  ::kill(pid_, SIGKILL);  // ours still: it has not been waited for
  static_cast<void>(wait(Deadline::in(kGoneAfterKill)));
  pid_ = -1;
}

std::string describe_end(int status) {
  if (WIFEXITED(status)) return fmt::format("exit status {}", WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  return fmt::format("signal {} ({})", number, ::strsignal(number));
}

}  // namespace vfsmend::sys
