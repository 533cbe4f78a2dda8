// SPDX-License-Identifier: Apache-2.0
// Two ways lead from the child to the parent:
//   the pipe   frames of kind:u32 length:u32 payload, in host order; kOutput up to 1 MiB each,
//              one empty kEnd as the last. An end of file without kEnd is a child that died.
//   the board  shared memory for the stage. A write(2) an inode would cost more than the looking,
//              and a throttled one would lose just the stage in which the child hangs.
#include "sys/bounded_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {

// Two slots, and the number of the one that is whole: the child fills the other and then turns
// the number, so that a kill in the middle of a copy leaves the stage before.
struct StageBoard {
  struct Slot {
    std::uint32_t length = 0;
    std::array<char, 4352> text{};
  };
  std::atomic<std::uint32_t> whole = 0;
  std::array<Slot, 2> slots;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

namespace {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC
using End = WorkerResult::End;
using std::chrono::milliseconds;

enum class FrameKind : std::uint32_t { kOutput = 1, kEnd = 2 };

struct FrameHeader {
  FrameKind kind{};
  std::uint32_t length = 0;
};

constexpr std::uint32_t kMaxFrame = 1U << 20;
constexpr int kChildPipe = 3;  // where the child finds the pipe, next to its standard streams

// How long a child may take to be gone once it has said all, was killed, or closed the pipe. One
// that sits in an uninterruptible call stays behind, a zombie when that call ever returns.
constexpr milliseconds kGoneAfterEnd{100};
constexpr milliseconds kGoneAfterKill{100};
constexpr milliseconds kGoneAfterCrash{200};

class SharedBoard {
 public:
  SharedBoard()
      : memory_(::mmap(nullptr, sizeof(StageBoard), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (valid()) new (memory_) StageBoard;
  }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  ~SharedBoard() {
    if (valid()) ::munmap(memory_, sizeof(StageBoard));
  }
  [[nodiscard]] bool valid() const { return memory_ != MAP_FAILED; }
  [[nodiscard]] StageBoard& get() const { return *static_cast<StageBoard*>(memory_); }
  [[nodiscard]] std::string read() const {
    const StageBoard& board = get();
    const StageBoard::Slot& slot = board.slots[board.whole.load(std::memory_order_acquire) & 1U];
    return {slot.text.data(), std::min<std::size_t>(slot.length, slot.text.size())};
  }

 private:
  void* memory_;
};

// SIGINT and SIGTERM as something to poll for. They are blocked while it lives; a signal that
// nobody read by then is delivered when the old mask comes back.
class CancelSignals {
 public:
  CancelSignals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int number : {SIGINT, SIGTERM}) {
      struct sigaction now {};
      // The kernel queues a blocked signal even where it is ignored: nohup's must not be asked for.
      if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
        sigaddset(&wanted, number);
      }
    }
    ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
    fd_ = UniqueFd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  CancelSignals(const CancelSignals&) = delete;
  CancelSignals& operator=(const CancelSignals&) = delete;
  ~CancelSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  [[nodiscard]] int fd() const { return fd_.get(); }
  // True if one came; all that came are used up.
  [[nodiscard]] bool take() const {
    bool came = false;
    signalfd_siginfo info{};
    while (::read(fd_.get(), &info, sizeof info) == sizeof info) came = true;
    return came;
  }

 private:
  sigset_t before_{};
  UniqueFd fd_;
};

// Puts frames together again, from pieces of any size.
class FrameReader {
 public:
  // False: not a frame of ours, or one behind the end.
  [[nodiscard]] bool take(std::string_view piece) {
    while (!piece.empty()) {
      if (ended_) return false;
      if (in_header_ < sizeof header_) {
        const std::size_t n = std::min(piece.size(), sizeof header_ - in_header_);
        std::memcpy(reinterpret_cast<char*>(&header_) + in_header_, piece.data(), n);
        in_header_ += n;
        piece.remove_prefix(n);
        if (in_header_ == sizeof header_ && !begin_payload()) return false;
        continue;
      }
      const std::size_t n = std::min<std::size_t>(piece.size(), missing_);
      output_.append(piece.substr(0, n));
      piece.remove_prefix(n);
      missing_ -= static_cast<std::uint32_t>(n);
      if (missing_ == 0) in_header_ = 0;
    }
    return true;
  }
  [[nodiscard]] bool ended() const { return ended_; }
  std::string& output() { return output_; }

 private:
  bool begin_payload() {
    ended_ = header_.kind == FrameKind::kEnd;
    missing_ = header_.length;
    if (ended_) return missing_ == 0;
    return header_.kind == FrameKind::kOutput && missing_ > 0 && missing_ <= kMaxFrame;
  }

  FrameHeader header_;
  std::size_t in_header_ = 0;
  std::uint32_t missing_ = 0;
  bool ended_ = false;
  std::string output_;
};

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(1);  // SIGPIPE has its default action; whatever else, nobody reads us
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void write_frame(int fd, FrameKind kind, std::string_view payload) {
  const FrameHeader header{kind, static_cast<std::uint32_t>(payload.size())};
  write_all(fd, {reinterpret_cast<const char*>(&header), sizeof header});
  write_all(fd, payload);
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);  // of some: EINVAL
  // A ^C reaches the whole foreground group. If the child died of it, the parent could see a
  // crash before it sees its own signal.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

// Standard streams on /dev/null, the pipe at kChildPipe, nothing else.
bool keep_only(int pipe) {
  // The pipe may lie on 0 to 2, where the caller had these closed.
  const int high = ::fcntl(pipe, F_DUPFD, kChildPipe);
  int null = ::open("/dev/null", O_RDWR);
  if (null < 0) null = ::open("/", O_PATH);  // a chroot without /dev: the numbers must be taken
  if (high < 0 || null < 0) return false;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::dup2(null, stream) < 0) return false;
  }
  if (high != kChildPipe && ::dup2(high, kChildPipe) < 0) return false;
  return ::close_range(kChildPipe + 1, ~0U, 0) == 0;
}

// noexcept: an exception out of `work` (no memory) ends the child by SIGABRT, and never gets into
// the frames of the parent's code that the child has on its stack.
[[noreturn]] void be_child(pid_t parent, int pipe, StageBoard& board,
                           const std::function<void(WorkerChannel&)>& work) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before the line above
  reset_signals();
  if (!keep_only(pipe)) ::_exit(1);
  WorkerChannel channel(kChildPipe, board);
  work(channel);
  write_frame(kChildPipe, FrameKind::kEnd, {});
  ::_exit(0);
}

struct Child {
  pid_t pid = -1;
  UniqueFd process;  // a pidfd: readable when the child is gone
  UniqueFd pipe;     // our end, not blocking
};

// Gives the child `grace` to be gone, then kills it. The signal of which it died before that, if
// it did.
int dismiss(const Child& child, milliseconds grace) {
  pollfd gone{child.process.get(), POLLIN, 0};
  ::poll(&gone, 1, static_cast<int>(grace.count()));
  const bool by_itself = (gone.revents & POLLIN) != 0;
  if (!by_itself) {
    ::kill(child.pid, SIGKILL);  // not waited for yet, so the number is still its own
    ::poll(&gone, 1, static_cast<int>(kGoneAfterKill.count()));
  }
  int status = 0;
  const bool known = ::waitpid(child.pid, &status, WNOHANG) == child.pid;
  return known && by_itself && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

// -1: no deadline. Rounded up, or the last millisecond would be spent in a busy loop.
int poll_timeout(std::optional<Clock::time_point> deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*deadline - Clock::now());
  return static_cast<int>(std::clamp<milliseconds::rep>(left.count(), 0, 1'000'000'000));
}

// Reads until the child has said all, is gone, the time is up or a signal came.
Result<End> watch(const Child& child, const CancelSignals& cancel, FrameReader& frames,
                  std::optional<Clock::time_point> deadline) {
  std::vector<char> buffer(std::size_t{256} << 10);
  for (;;) {
    std::array<pollfd, 3> ready{pollfd{child.pipe.get(), POLLIN, 0},
                                pollfd{cancel.fd(), POLLIN, 0},
                                pollfd{child.process.get(), POLLIN, 0}};
    if (::poll(ready.data(), ready.size(), poll_timeout(deadline)) < 0 && errno != EINTR) {
      return fail_errno(errno, "poll");
    }
    if (cancel.take()) return End::kCancelled;
    const ssize_t n = ::read(child.pipe.get(), buffer.data(), buffer.size());
    if (n > 0) {
      if (!frames.take({buffer.data(), static_cast<std::size_t>(n)})) return End::kCrashed;
      if (frames.ended()) return End::kDone;
      if (frames.output().size() > kMaxWorkerOutput) {
        return fail(ErrorCode::kLimit, "the worker sent more than a report can be");
      }
    } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
      return fail_errno(errno, "reading from the worker");
    } else if (n == 0 || (ready[2].revents & POLLIN) != 0) {
      // The second where it is gone, and a process that it started still holds the pipe.
      return End::kCrashed;
    }
    if (deadline && Clock::now() >= *deadline) return End::kDeadline;
  }
}

Result<Child> spawn(StageBoard& board, const std::function<void(WorkerChannel&)>& work) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  Child child{-1, UniqueFd(), UniqueFd(ends[0])};
  const UniqueFd child_end(ends[1]);
  ::fcntl(ends[0], F_SETPIPE_SZ, static_cast<int>(kMaxFrame));  // fewer turns; not needed
  const pid_t parent = ::getpid();
  child.pid = ::fork();
  if (child.pid < 0) return fail_errno(errno, "fork");
  if (child.pid == 0) be_child(parent, ends[1], board, work);
  child.process = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  if (!child.process.valid() || ::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
    const int err = errno;
    ::kill(child.pid, SIGKILL);
    ::waitpid(child.pid, nullptr, WNOHANG);
    return fail_errno(err, "watching the worker");
  }
  return child;
}

}  // namespace

void WorkerChannel::stage(std::string_view what) {
  const std::uint32_t next = 1U - (board_.whole.load(std::memory_order_relaxed) & 1U);
  StageBoard::Slot& slot = board_.slots[next];
  slot.length = static_cast<std::uint32_t>(std::min(what.size(), slot.text.size()));
  std::memcpy(slot.text.data(), what.data(), slot.length);
  board_.whole.exchange(next, std::memory_order_acq_rel);  // no later copy moves before it
}

void WorkerChannel::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kMaxFrame);
    write_frame(pipe_, FrameKind::kOutput, part);
    bytes.remove_prefix(part.size());
  }
}

Result<WorkerResult> run_bounded(milliseconds deadline,
                                 const std::function<void(WorkerChannel&)>& work) {
  std::optional<Clock::time_point> until;
  if (deadline.count() > 0) until = Clock::now() + deadline;
  const SharedBoard board;
  if (!board.valid()) return fail_errno(errno, "mmap");
  const CancelSignals cancel;
  if (cancel.fd() < 0) return fail_errno(errno, "signalfd");
  VFSMEND_TRY_ASSIGN(const Child child, spawn(board.get(), work));

  FrameReader frames;
  const Result<End> end = watch(child, cancel, frames, until);
  milliseconds grace{0};
  if (end && *end == End::kDone) grace = kGoneAfterEnd;
  if (end && *end == End::kCrashed) grace = kGoneAfterCrash;
  const int signal = dismiss(child, grace);
  VFSMEND_TRY(end);

  WorkerResult result;
  result.end = *end;
  result.output = std::move(frames.output());
  result.last_stage = board.read();
  if (result.end == End::kCrashed) result.signal = signal;
  return result;
}

}  // namespace vfsmend::sys
