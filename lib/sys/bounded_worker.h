// SPDX-License-Identifier: Apache-2.0
// Work under a deadline that holds even where a system call hangs. A file system that does not
// answer (a dead NFS server, a stopped FUSE daemon) puts the caller of stat(2) into a sleep that
// no timer ends and that SIGKILL may not end either. So the looking is done by a child process:
// the parent only polls, and goes its way at the deadline whether or not the child can be killed.
//
// Not for a process with other threads: the child runs `work` after a plain fork(2).
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace vfsmend::sys {

struct StageBoard;

struct WorkerResult {
  enum class End {
    kDone,       // `work` returned, and all that it sent is in `output`
    kDeadline,   // the time was up
    kCancelled,  // SIGINT or SIGTERM came for this process
    kCrashed,    // the child died, or left without a word
  };
  End end = End::kCrashed;
  std::string output;      // what was sent; whole only with kDone
  std::string last_stage;  // what the child said last that it was about to do
  int signal = 0;          // of which the child died by itself; 0 where that is not known
};

// The child's end.
class WorkerChannel {
 public:
  WorkerChannel(int pipe, StageBoard& board) : pipe_(pipe), board_(board) {}

  // Says what comes next, at the price of a copy: cheap enough for every inode of a million. A
  // text over 4,352 bytes (a path and some words) is cut.
  void stage(std::string_view what);
  // Appends to the output of the parent. A parent that is gone ends the child.
  void send(std::string_view bytes);

 private:
  int pipe_;
  StageBoard& board_;
};

// More output than that is a fault of the child: kLimit.
inline constexpr std::uint64_t kMaxWorkerOutput = std::uint64_t{1} << 30;

// Runs `work` in a child, for at most `deadline` (0: as long as it takes). The child has
// /dev/null for its standard streams and no other descriptor of ours, default signal
// handlers (SIGINT and SIGTERM are the parent's to judge, so it ignores them), and dies with the
// calling thread. Neither the exit handlers nor the buffered output of this process run in it.
//
// SIGINT and SIGTERM are taken by this call while it runs, unless they are ignored; afterwards
// they are what they were before. An error is one of fork(2), pipe(2) and their like, or kLimit.
[[nodiscard]] Result<WorkerResult> run_bounded(std::chrono::milliseconds deadline,
                                               const std::function<void(WorkerChannel&)>& work);

}  // namespace vfsmend::sys
