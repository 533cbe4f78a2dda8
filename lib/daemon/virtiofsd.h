// SPDX-License-Identifier: Apache-2.0
// A virtiofsd of the user's, started by us and connected to us.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/daemon_log.h"
#include "daemon/vhost_user.h"
#include "sys/child_process.h"
#include "sys/deadline.h"

namespace vfsmend::daemon {

struct VirtiofsdStart {
  std::string program;             // path; not looked for in PATH
  std::vector<std::string> args;   // its switches, without --fd and --socket-path
  std::string socket_directory;    // ours alone (0700): for the moment of connecting
  // All that it starts ends with it. Costs some milliseconds; off where thousands are started.
  bool own_pid_namespace = true;
};

class Virtiofsd {
 public:
  // Returns before the daemon has looked at its switches: it may still end by itself. kSystem: it
  // cannot be executed.
  [[nodiscard]] static Result<Virtiofsd> start(const VirtiofsdStart& how);

  [[nodiscard]] VhostUser& wire() { return wire_; }

  // What it has written to its standard error since `from` (an offset of bytes, moved to the end);
  // at most 64 MiB, kLimit where it is more.
  [[nodiscard]] Result<std::string> log(std::uint64_t& from) const;

  // Its end, as words: "exit status 1", where it ends by the deadline.
  [[nodiscard]] std::optional<std::string> ended(sys::Deadline deadline);
  void kill() { process_.kill(); }
  [[nodiscard]] pid_t pid() const { return process_.pid(); }

  // For an error on the wire: puts in words whether the daemon has died, and what it said at last.
  [[nodiscard]] Error explain(Error error);

 private:
  Virtiofsd(sys::ChildProcess process, VhostUser wire, sys::UniqueFd log)
      : process_(std::move(process)), wire_(std::move(wire)), log_(std::move(log)) {}

  sys::ChildProcess process_;
  VhostUser wire_;
  sys::UniqueFd log_;
};

// The version that `program --version` prints ("1.13.2"). kFormat: it prints something else.
[[nodiscard]] Result<std::string> version_of(const std::string& program, sys::Deadline deadline);

}  // namespace vfsmend::daemon
