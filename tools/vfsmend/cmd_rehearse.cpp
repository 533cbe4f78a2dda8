// SPDX-License-Identifier: Apache-2.0
// `vfsmend rehearse`: the real daemon loads the state, in the worker's private mount namespace.
#include <algorithm>

#include "sys/deadline.h"
#include "sys/private_mounts.h"
#include "vfsmend/commands.h"
#include "vfsmend/rehearsal.h"
#include "vfsmend/report_command.h"
#include "vfsmend/settings.h"

namespace vfsmend {
namespace {

// Of the deadline a part is kept, so that the worker itself can end a daemon that hangs and say so.
sys::Deadline for_the_daemon(std::chrono::milliseconds deadline) {
  using std::chrono::milliseconds;
  if (deadline == milliseconds(0)) return sys::Deadline::in(std::chrono::hours(24));
  const milliseconds kept = std::clamp(deadline / 10, milliseconds(1), milliseconds(1000));
  return sys::Deadline::in(deadline - kept);
}

}  // namespace

Result<int> cmd_rehearse(const Parsed& parsed, const Io& io) {
  VFSMEND_TRY_ASSIGN(const RehearseSettings settings, rehearse_settings(parsed));
  // Made and removed here: the worker may be killed.
  VFSMEND_TRY_ASSIGN(const std::string directory, sys::make_private_directory());
  const int status =
      run_report_command("rehearse", settings.check, io, [&](const Progress& progress) {
        return rehearse_and_check(*io.calls, settings, directory,
                                  for_the_daemon(settings.check.run.deadline), progress);
      });
  sys::remove_private_directory(directory);
  return status;
}

}  // namespace vfsmend
