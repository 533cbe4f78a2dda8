// SPDX-License-Identifier: Apache-2.0
#include "vfsmend/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "vfsmend/switches.h"

namespace vfsmend {
namespace {

tl::unexpected<Error> usage(std::string text) { return fail(ErrorCode::kUsage, std::move(text)); }

}  // namespace

Result<std::string> snapshot_operand(const Parsed& parsed) {
  if (parsed.operands.empty()) {
    return usage("SNAPSHOT is missing: the file or directory to look at");
  }
  if (parsed.operands.size() > 1) {
    return usage(fmt::format("\"{}\": one SNAPSHOT at a time, and \"{}\" is one already",
                             printable(parsed.operands[1]), printable(parsed.operands[0])));
  }
  if (parsed.operands[0].empty()) return usage("SNAPSHOT is an empty name");
  return parsed.operands[0];
}

namespace {

Result<OutputSettings> output_settings(const Parsed& parsed, bool lines) {
  OutputSettings output;
  const std::string_view format = parsed.value("format", "text");
  if (format == "json") output.format = Format::kJson;
  else if (format == "jsonl" && lines) output.format = Format::kJsonLines;
  else if (format != "text") {
    return usage(fmt::format("--format: \"{}\" is none of text, json{}", printable(format),
                             lines ? ", jsonl" : ""));
  }
  output.file = parsed.value("output", "");
  if (parsed.has("output") && output.file.empty()) return usage("--output: an empty name");
  VFSMEND_TRY_ASSIGN(output.color, color_setting(parsed));
  output.redact_paths = parsed.has("redact-paths");
  return output;
}

}  // namespace

Result<RunSettings> run_settings(const Parsed& parsed) {
  RunSettings run;
  if (parsed.has("deadline")) {
    VFSMEND_TRY_ASSIGN(const std::uint64_t ms,
                       parse_number("deadline", parsed.value("deadline", ""),
                                    std::numeric_limits<std::int32_t>::max()));
    run.deadline = std::chrono::milliseconds(ms);
  }
  run.trace_id = parsed.value("trace-id", "");
  return run;
}

Result<pid_t> pid_setting(const Parsed& parsed, std::string_view name) {
  if (!parsed.has(name)) return 0;
  VFSMEND_TRY_ASSIGN(const std::uint64_t pid, parse_number(name, parsed.value(name, ""),
                                                           std::numeric_limits<pid_t>::max()));
  if (pid == 0) return usage(fmt::format("--{}: 0 is the id of no process", name));
  return static_cast<pid_t>(pid);
}

namespace {

Result<std::optional<Dialect>> dialect_setting(const Parsed& parsed) {
  const std::string_view name = parsed.value("dialect", "auto");
  if (name == "auto") return std::nullopt;
  const std::optional<Dialect> dialect = dialect_named(name);
  if (!dialect) {
    return usage(
        fmt::format("--dialect: \"{}\" is none of auto, v1, v2, cube-v1", printable(name)));
  }
  return dialect;
}

Result<std::vector<CheckRequest::Share>> shares(const Parsed& parsed, const Switches& switches) {
  std::vector<CheckRequest::Share> found;
  for (const auto& [name, value] : parsed.options) {
    if (name != "share") continue;
    const std::size_t equals = value.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == value.size()) {
      return usage(fmt::format("--share: \"{}\" is not ID=DIR, the id of a device and the "
                               "directory that it shares",
                               printable(value)));
    }
    CheckRequest::Share share{value.substr(0, equals), value.substr(equals + 1)};
    for (const CheckRequest::Share& other : found) {
      if (other.device == share.device && other.dir != share.dir) {
        return usage(
            fmt::format("--share: \"{}\" is given two directories", printable(other.device)));
      }
    }
    found.push_back(std::move(share));
  }
  const std::string_view dir = parsed.value("shared-dir", "");
  if (parsed.has("shared-dir")) {
    if (dir.empty()) return usage("--shared-dir: an empty name");
    if (!found.empty()) {
      return usage("--shared-dir: together with --share; give --share ID=DIR for each device, or "
                   "--shared-dir for the only one");
    }
    found.push_back({"", std::string(dir)});
  } else if (found.empty() && !switches.destination.shared_dir.empty()) {
    found.push_back({"", switches.destination.shared_dir});
  }
  return found;
}

// UID or UID:GID.
Result<void> daemon_user(const Parsed& parsed, Destination& to) {
  if (!parsed.has("daemon-uid")) return {};
  constexpr std::uint64_t kLargest = std::numeric_limits<uid_t>::max() - 1;  // the last is "none"
  const std::string_view text = parsed.value("daemon-uid", "");
  const std::size_t colon = std::min(text.find(':'), text.size());
  VFSMEND_TRY_ASSIGN(const std::uint64_t uid,
                     parse_number("daemon-uid", text.substr(0, colon), kLargest));
  to.uid = static_cast<uid_t>(uid);
  if (colon < text.size()) {
    VFSMEND_TRY_ASSIGN(const std::uint64_t gid,
                       parse_number("daemon-uid", text.substr(colon + 1), kLargest));
    to.gid = static_cast<gid_t>(gid);
  }
  return {};
}

Result<Switches> switch_settings(const Parsed& parsed) {
  Switches switches;
  if (parsed.has("daemon-args")) {
    VFSMEND_TRY(apply_daemon_args(parsed.value("daemon-args", ""), switches));
  }
  for (const auto& [name, value] : parsed.options) {
    if (is_switch(name)) VFSMEND_TRY(apply_switch(name, value, switches));
    if (name == "allowed-dir") {
      if (value.empty()) return usage("--allowed-dir: an empty name");
      switches.destination.allowed_dirs.push_back(value);
      if (!switches.has(name)) switches.given.push_back(name);
    } else if (name == "remap-filter") {
      switches.destination.remap_filter = true;
      if (!switches.has(name)) switches.given.push_back(name);
    }
  }
  Destination& to = switches.destination;
  VFSMEND_TRY(daemon_user(parsed, to));
  if (parsed.has("virtiofsd-version")) {
    VFSMEND_TRY_ASSIGN(to.version, parse_version(parsed.value("virtiofsd-version", "")));
  }
  if (!switches.has("inode-file-handles") && to.version >= Version{1, 13, 3}) {
    to.inode_file_handles = InodeFileHandles::kPrefer;
  }
  if (to.version < Version{1, 12, 0}) to.reader = Reader::kVirtiofsd11;
  return switches;
}

// What a profile rules out, from the words alone.
Result<void> no_contradiction(const Parsed& parsed, const CheckRequest& request) {
  if (!request.profile) return {};
  const std::string_view profile = name_of(*request.profile);
  const bool cube = *request.profile != Profile::kVirtiofsd;
  const std::optional<OnError> fixed = fixed_on_error(*request.profile);
  if (fixed && request.on_error && *fixed != *request.on_error) {
    return usage(fmt::format("--on-error: {} contradicts --profile {}, whose loader always takes "
                             "{}: leave --on-error out, or name another profile",
                             name_of(*request.on_error), profile, name_of(*fixed)));
  }
  if (request.dialect && (*request.dialect == Dialect::kCubeV1) != cube) {
    return usage(fmt::format("--dialect: {} is not what --profile {} reads: leave one of them out",
                             name_of(*request.dialect), profile));
  }
  for (const char* name : {"allowed-dir", "remap-filter", "overlay"}) {
    if (!cube && parsed.has(name)) {
      return usage(fmt::format("--{}: of CubeSandbox, and the profile is virtiofsd: leave it out, "
                               "or name a cube profile",
                               name));
    }
  }
  for (const char* name : {"daemon-args", "virtiofsd-version"}) {
    if (cube && parsed.has(name)) {
      return usage(fmt::format("--{}: of virtiofsd, and the profile is {}: leave it out, or take "
                               "--profile virtiofsd",
                               name, profile));
    }
  }
  return {};
}

}  // namespace

Result<void> fill_destination(const Parsed& parsed, CheckRequest& request, RunSettings& run) {
  VFSMEND_TRY_ASSIGN(Switches switches, switch_settings(parsed));
  if (switches.has("on-error")) request.on_error = switches.destination.on_error;
  if (parsed.has("profile")) {
    const std::string_view name = parsed.value("profile", "");
    request.profile = profile_named(name);
    if (!request.profile) {
      return usage(fmt::format("--profile: \"{}\" is none of virtiofsd, cube-abort, "
                               "cube-guest-error, cube-remap",
                               printable(name)));
    }
    switches.destination.profile = *request.profile;
    if (switches.destination.is_cube()) switches.destination.reader = Reader::kCube;
  }
  VFSMEND_TRY_ASSIGN(request.dialect, dialect_setting(parsed));
  VFSMEND_TRY_ASSIGN(request.shares, shares(parsed, switches));
  VFSMEND_TRY(no_contradiction(parsed, request));
  std::erase(switches.given, "on-error");
  request.switches = std::move(switches.destination);
  request.switches.shared_dir.clear();
  request.given = std::move(switches.given);
  run.notes = std::move(switches.notes);
  return {};
}

Result<ColorWhen> color_setting(const Parsed& parsed) {
  const std::string_view when = parsed.value("color", "auto");
  if (when == "always") return ColorWhen::kAlways;
  if (when == "never") return ColorWhen::kNever;
  if (when == "auto") return ColorWhen::kAuto;
  return usage(fmt::format("--color: \"{}\" is none of auto, always, never", printable(when)));
}

namespace {

Result<void> fill_record(const Parsed& parsed, CheckRequest& request) {
  for (const auto& [name, file] : {std::pair("manifest", &request.manifest_file),
                                   std::pair("policy", &request.policy_file)}) {
    *file = parsed.value(name, "");
    if (parsed.has(name) && file->empty()) return usage(fmt::format("--{}: an empty name", name));
  }
  RecordOptions& record = request.record;
  record.search = parsed.has("search");
  record.allow_rebind = parsed.has("allow-rebind");
  record.allow_remount = parsed.has("allow-remount");
  record.allow_privileges = parsed.has("allow-privileges");
  record.state_only = parsed.has("state-only");
  record.snapshot_id = parsed.value("snapshot-id", "");
  record.sandbox_id = parsed.value("sandbox-id", "");
  if (!parsed.has("hash-budget")) return {};
  VFSMEND_TRY_ASSIGN(record.hash_budget,
                     parse_number("hash-budget", parsed.value("hash-budget", ""),
                                  std::numeric_limits<std::int64_t>::max()));
  return {};
}

}  // namespace

Result<CheckSettings> check_settings(const Parsed& parsed) {
  CheckSettings settings;
  VFSMEND_TRY_ASSIGN(settings.run, run_settings(parsed));
  VFSMEND_TRY_ASSIGN(settings.output, output_settings(parsed, true));
  VFSMEND_TRY(fill_destination(parsed, settings.request, settings.run));
  CheckRequest& request = settings.request;
  VFSMEND_TRY(fill_record(parsed, request));
  request.overlay_file = parsed.value("overlay", "");
  request.trace_id = settings.run.trace_id;
  if (parsed.has("max-findings")) {
    VFSMEND_TRY_ASSIGN(request.max_findings,
                       parse_number("max-findings", parsed.value("max-findings", ""),
                                    std::numeric_limits<std::int32_t>::max()));
  }
  VFSMEND_TRY_ASSIGN(request.mount_namespace_of, pid_setting(parsed, "mount-ns"));
  VFSMEND_TRY_ASSIGN(request.snapshot_path, snapshot_operand(parsed));
  spare_snapshot(settings.run, settings.output.file, request.snapshot_path);
  for (const std::string& file : {request.manifest_file, request.policy_file, request.overlay_file,
                                  request.snapshot_path + "/vfsmend.manifest",
                                  request.snapshot_path + ".vfsmend-manifest"}) {
    settings.run.inputs.push_back(file);
  }
  return settings;
}

void spare_snapshot(RunSettings& run, const std::string& output, const std::string& snapshot) {
  run.output = output;
  run.inputs.push_back(snapshot);
  for (const char* below : {"/", "/snapshot/"}) {
    for (const char* name : {"state.json", "config.json", "memory-ranges", "memory", "memory.dev"}) {
      run.inputs.push_back(snapshot + below + name);
    }
  }
}

Result<RehearseSettings> rehearse_settings(const Parsed& parsed) {
  RehearseSettings settings;
  VFSMEND_TRY_ASSIGN(settings.check, check_settings(parsed));
  settings.check.request.profile = Profile::kVirtiofsd;  // whose loader is asked
  settings.virtiofsd = parsed.value("virtiofsd", "");
  if (settings.virtiofsd.empty()) {
    return usage("--virtiofsd is missing: the program that will restore, by its path");
  }
  settings.read_only = parsed.has("read-only-bind");
  if (parsed.has("daemon-args")) {
    VFSMEND_TRY_ASSIGN(settings.daemon_words, words_to_pass_on(parsed.value("daemon-args", "")));
  }
  for (const auto& [name, value] : parsed.options) {
    if (!is_switch(name) || name == "on-error") continue;
    settings.daemon_words.push_back(value.empty() ? "--" + name
                                                  : fmt::format("--{}={}", name, value));
  }
  return settings;
}

Result<InspectSettings> inspect_settings(const Parsed& parsed) {
  InspectSettings settings;
  VFSMEND_TRY_ASSIGN(settings.run, run_settings(parsed));
  VFSMEND_TRY_ASSIGN(settings.output, output_settings(parsed, false));
  VFSMEND_TRY_ASSIGN(settings.dialect, dialect_setting(parsed));
  VFSMEND_TRY_ASSIGN(settings.snapshot_path, snapshot_operand(parsed));
  settings.open.overlay_file = parsed.value("overlay", "");
  spare_snapshot(settings.run, settings.output.file, settings.snapshot_path);
  return settings;
}

}  // namespace vfsmend
