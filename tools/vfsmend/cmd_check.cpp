// SPDX-License-Identifier: Apache-2.0
// `vfsmend check`: the request goes to the worker, the report comes back as it is to be printed.
#include "sys/heap.h"
#include "verdict/check.h"
#include "vfsmend/commands.h"
#include "vfsmend/report_command.h"
#include "vfsmend/settings.h"

namespace vfsmend {

Result<int> cmd_check(const Parsed& parsed, const Io& io) {
  VFSMEND_TRY_ASSIGN(const CheckSettings settings, check_settings(parsed));
  return run_report_command("check", settings, io, [&](const Progress& progress) {
    CheckRequest in_worker = settings.request;
    in_worker.expect_memory = sys::fetch_heap;
    return check(*io.calls, in_worker, progress);
  });
}

}  // namespace vfsmend
