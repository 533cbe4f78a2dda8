// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <limits>

#include "base/text.h"
#include "vfsmend/settings.h"
#include "vfsmend/switches.h"

namespace vfsmend {
namespace {

tl::unexpected<Error> usage(std::string text) { return fail(ErrorCode::kUsage, std::move(text)); }

Result<HashScope> hash_scope(const Parsed& parsed) {
  const std::string_view which = parsed.value("hash", "used");
  if (which == "none") return HashScope::kNone;
  if (which == "used") return HashScope::kUsed;
  if (which == "all") return HashScope::kAll;
  return usage(fmt::format("--hash: \"{}\" is none of none, used, all", printable(which)));
}

Result<void> fill_format(const Parsed& parsed, CaptureSettings& settings) {
  const std::string_view format = parsed.value("format", "text");
  settings.mtree = format == "mtree";
  if (format == "json") settings.format = Format::kJson;
  else if (format != "text" && !settings.mtree) {
    return usage(fmt::format("--format: \"{}\" is none of text, json, mtree", printable(format)));
  }
  settings.file = parsed.value("output", "");
  if (parsed.has("output") && settings.file.empty()) return usage("--output: an empty name");
  VFSMEND_TRY_ASSIGN(settings.color, color_setting(parsed));
  return {};
}

// Of a tree without a snapshot there is no state, and so nothing that it shares or that is open.
Result<void> fill_tree(const Parsed& parsed, CaptureSettings& settings) {
  CaptureRequest& request = settings.request;
  request.tree = parsed.value("dir", "");
  if (request.tree.empty()) return usage("--dir: an empty name");
  if (!parsed.operands.empty()) {
    return usage(fmt::format("\"{}\": a SNAPSHOT or --dir, not both", printable(parsed.operands[0])));
  }
  for (const char* name : {"shared-dir", "share", "overlay", "daemon-args", "profile", "dialect"}) {
    if (parsed.has(name)) return usage(fmt::format("--{}: of a SNAPSHOT, and --dir has none", name));
  }
  if (settings.file.empty() && !settings.mtree) {
    return usage("--dir: -o FILE is missing: where to write the manifest");
  }
  return {};
}

}  // namespace

Result<CaptureSettings> capture_settings(const Parsed& parsed) {
  CaptureSettings settings;
  CaptureRequest& request = settings.request;
  VFSMEND_TRY_ASSIGN(settings.run, run_settings(parsed));
  VFSMEND_TRY(fill_format(parsed, settings));
  VFSMEND_TRY_ASSIGN(request.hash, hash_scope(parsed));
  if (parsed.has("hash-budget")) {
    VFSMEND_TRY_ASSIGN(request.hash_budget,
                       parse_number("hash-budget", parsed.value("hash-budget", ""),
                                    std::numeric_limits<std::int64_t>::max()));
  }
  if (parsed.has("max-findings")) {
    VFSMEND_TRY_ASSIGN(request.what.max_findings,
                       parse_number("max-findings", parsed.value("max-findings", ""),
                                    std::numeric_limits<std::int32_t>::max()));
  }
  request.whole_tree = parsed.has("tree");
  request.quiesced = parsed.has("quiesced");
  request.snapshot_id = parsed.value("snapshot-id", "");
  request.sandbox_id = parsed.value("sandbox-id", "");
  request.parent_id = parsed.value("parent-id", "");
  VFSMEND_TRY_ASSIGN(request.daemon_pid, pid_setting(parsed, "daemon-pid"));
  request.keep_unlinked = parsed.has("keep-unlinked");
  if (request.keep_unlinked && request.daemon_pid == 0) {
    return usage("--keep-unlinked: needs --daemon-pid: only the daemon still has these files");
  }
  VFSMEND_TRY_ASSIGN(request.what.mount_namespace_of, pid_setting(parsed, "mount-ns"));
  request.what.overlay_file = parsed.value("overlay", "");
  request.what.trace_id = settings.run.trace_id;
  VFSMEND_TRY(fill_destination(parsed, request.what, settings.run));
  if (parsed.has("dir")) {
    VFSMEND_TRY(fill_tree(parsed, settings));
  } else {
    VFSMEND_TRY_ASSIGN(request.what.snapshot_path, snapshot_operand(parsed));
    spare_snapshot(settings.run, settings.file, request.what.snapshot_path);
  }
  return settings;
}

}  // namespace vfsmend
