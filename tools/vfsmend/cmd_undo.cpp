// SPDX-License-Identifier: Apache-2.0
// `vfsmend undo`: what a repair changed is put back. `vfsmend repair --finish`: what it made for the
// time of the resume goes.
#include <fmt/format.h>

#include <functional>

#include "repair/apply.h"
#include "vfsmend/commands.h"
#include "vfsmend/looking.h"
#include "vfsmend/settings.h"

namespace vfsmend {

namespace {

// What acts on a journal and answers with a text.
Result<int> run_on_journal(const char* command, const Parsed& parsed, const Io& io,
                           const std::function<Result<std::string>(pid_t, const Progress&)>& act) {
  VFSMEND_TRY_ASSIGN(const RunSettings run, run_settings(parsed));
  VFSMEND_TRY_ASSIGN(const pid_t namespace_of, pid_setting(parsed, "mount-ns"));
  const auto look = [&](const Progress& progress) -> Rendered {
    const Result<std::string> done = act(namespace_of, progress);
    if (done) return {exit_status::kGood, *done, ""};
    const bool usage = done.error().code == ErrorCode::kUsage;
    return {usage ? exit_status::kUsage : exit_status::kOperational, "",
            message(run.trace_id, fmt::format("{}: {}", command, done.error().text))};
  };
  const auto unable = [&](Unable why, const std::string& reason) -> Rendered {
    const int exit = why == Unable::kCancelled ? exit_status::kCancelled : exit_status::kOperational;
    return {exit, "", message(run.trace_id, fmt::format("{}: {}", command, reason))};
  };
  return deliver(look_bounded(run, look, unable), run.trace_id, "", io);
}

}  // namespace

Result<int> cmd_undo(const Parsed& parsed, const Io& io) {
  if (parsed.operands.size() != 1 || parsed.operands[0].empty()) {
    return fail(ErrorCode::kUsage, "one JOURNAL: the file that the repair named");
  }
  return run_on_journal("undo", parsed, io, [&](pid_t namespace_of, const Progress& progress) {
    const UndoRequest request{parsed.operands[0], parsed.has("dry-run"), parsed.has("force"), namespace_of};
    return undo_repair(*io.calls, *io.changes, request, progress);
  });
}

Result<int> finish_repair_command(const Parsed& parsed, const Io& io) {
  const std::string journal(parsed.value("finish", ""));
  if (journal.empty() || !parsed.operands.empty()) {
    return fail(ErrorCode::kUsage, "--finish JOURNAL, and no SNAPSHOT: the journal leads to it");
  }
  return run_on_journal("repair", parsed, io, [&](pid_t namespace_of, const Progress& progress) {
    return finish_repair(*io.calls, *io.changes, {journal, namespace_of}, progress);
  });
}

}  // namespace vfsmend
