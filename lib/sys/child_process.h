// SPDX-License-Identifier: Apache-2.0
// Another program, started by us and not outliving us: it gets SIGKILL when this object goes, and
// when the thread that started it dies.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sys/deadline.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {

struct ProgramStart {
  std::vector<std::string> words;  // words[0]: path of the program
  // Descriptor of ours -> its number there. The standard streams are /dev/null unless named here;
  // every other descriptor stays here.
  std::vector<std::pair<int, int>> descriptors;
  // In a PID namespace of its own: what it starts dies with it, whatever it is doing. Needs root.
  bool own_pid_namespace = false;
};

class ChildProcess {
 public:
  // kSystem, with the errno of the exec where that failed (no such program, not executable).
  [[nodiscard]] static Result<ChildProcess> start(const ProgramStart& what);

  ChildProcess(ChildProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)),
        status_(other.status_) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() { kill(); }

  // Its status as wait(2) has it, once it has ended; nothing while it runs at the deadline.
  [[nodiscard]] std::optional<int> wait(Deadline deadline);
  // SIGKILL, and a short wait for its end. Nothing where it has ended already.
  void kill();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  ChildProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_ = -1;
  UniqueFd pidfd_;
  std::optional<int> status_;
};

// "exit status 1", "signal 9 (Killed)"
[[nodiscard]] std::string describe_end(int status);

}  // namespace vfsmend::sys
