// SPDX-License-Identifier: Apache-2.0
// `vfsmend undo`: what a repair changed is put back.
#include "repair/apply.h"
#include "vfsmend/commands.h"
#include "vfsmend/looking.h"
#include "vfsmend/settings.h"

namespace vfsmend {

Result<int> cmd_undo(const Parsed& parsed, const Io& io) {
  if (parsed.operands.size() != 1 || parsed.operands[0].empty()) {
    return fail(ErrorCode::kUsage, "one JOURNAL: the file that the repair named");
  }
  VFSMEND_TRY_ASSIGN(const RunSettings run, run_settings(parsed));
  const UndoRequest request{parsed.operands[0], parsed.has("dry-run"), parsed.has("force")};
  const auto look = [&](const Progress& progress) -> Rendered {
    const Result<std::string> done = undo_repair(*io.calls, *io.changes, request, progress);
    if (done) return {exit_status::kGood, *done + "\n", ""};
    const bool usage = done.error().code == ErrorCode::kUsage;
    return {usage ? exit_status::kUsage : exit_status::kOperational, "",
            message(run.trace_id, "undo: " + done.error().text)};
  };
  const auto unable = [&](Unable why, const std::string& reason) -> Rendered {
    const int exit = why == Unable::kCancelled ? exit_status::kCancelled : exit_status::kOperational;
    return {exit, "", message(run.trace_id, "undo: " + reason)};
  };
  return deliver(look_bounded(run, look, unable), run.trace_id, "", io);
}

}  // namespace vfsmend
