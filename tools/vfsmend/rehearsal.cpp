// SPDX-License-Identifier: Apache-2.0
#include "vfsmend/rehearsal.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "daemon/rehearse.h"
#include "daemon/text_match.h"
#include "snapshot/open.h"
#include "state/codec.h"
#include "sys/private_mounts.h"
#include "verdict/destination_of.h"
#include "vfsmend/switches.h"

namespace vfsmend {
namespace {

using daemon::Answer;

// What a daemon of 1.13.2 or later asks for by itself; it gets no more than the hard limit.
constexpr std::uint64_t kWantedDescriptors = 1'000'000;

std::uint64_t descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kWantedDescriptors;
  return std::min<std::uint64_t>(limit.rlim_max, kWantedDescriptors);
}

// The model speaks of the daemon that is asked: of its version, and of the descriptors it has here.
Result<std::string> settle(const RehearseSettings& settings, sys::Deadline answer_by,
                           CheckRequest& request) {
  auto version = daemon::version_of(settings.virtiofsd, answer_by);
  if (!version) {
    Error error = std::move(version.error()).context("--virtiofsd");
    if (error.code != ErrorCode::kTimeout) error.code = ErrorCode::kUsage;
    return tl::make_unexpected(std::move(error));
  }
  VFSMEND_TRY_ASSIGN(request.switches.version, parse_version(*version));
  const bool limits = request.switches.version >= Version{1, 13, 2};
  if (limits && !request.switches.rlimit_nofile) {
    request.switches.rlimit_nofile = descriptor_limit();
  }
  return *version;
}

Result<void> bind_shares(const std::vector<std::string>& shares, bool read_only) {
  for (const std::string& share : shares) {
    auto bound = sys::bind_over_itself(share, read_only);
    // A share that is not there is the check's to tell.
    if (!bound && bound.error().sys_errno != ENOENT) return bound;
  }
  return {};
}

bool same_text(const std::optional<std::string>& model, const std::optional<std::string>& daemon) {
  const std::string a = daemon::without_numbers(model.value_or(""));
  const std::string b = daemon::without_numbers(daemon.value_or(""));
  // A daemon that keeps file handles may print another link of the file.
  return a == b || daemon::parted(a).rest == daemon::parted(b).rest;
}

std::string first_difference(const Restore& model, const Rehearsal& daemon) {
  if (model.outcome != daemon.outcome) {
    return fmt::format("predicted: {}", name_of(model.outcome));
  }
  if (!same_text(model.error, daemon.error)) {
    return fmt::format("predicted: {}", model.error.value_or("no error"));
  }
  if (model.invalid_inodes != daemon.invalid_inodes) {
    return fmt::format("predicted as dead: inodes {}; found dead: {}",
                       fmt::join(model.invalid_inodes, ", "), fmt::join(daemon.invalid_inodes, ", "));
  }
  if (model.invalid_handles != daemon.invalid_handles) {
    return fmt::format("predicted as dead: handles {}; found dead: {}",
                       fmt::join(model.invalid_handles, ", "),
                       fmt::join(daemon.invalid_handles, ", "));
  }
  return {};
}

template <typename Id>
std::vector<Id> ids_of(const std::map<Id, std::string>& texts) {
  std::vector<Id> ids;
  ids.reserve(texts.size());
  for (const auto& [id, text] : texts) ids.push_back(id);
  return ids;
}

// Of a daemon that ended before the load the log holds more than the error: the model's is looked
// for in it.
std::string start_error(const daemon::DaemonLog& log, const Restore& model) {
  if (model.error && log.other.find(*model.error) != std::string::npos) return *model.error;
  std::string text = log.other;
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

void take(const Answer& answer, const Restore& model, Rehearsal& out) {
  switch (answer.end) {
    case Answer::End::kLoaded: out.outcome = Outcome::kSucceeds; break;
    case Answer::End::kHung: out.outcome = Outcome::kHangs; break;
    case Answer::End::kFailed:
      out.outcome = Outcome::kFails;
      out.error = answer.log.load_error.value_or("the daemon gave no reason");
      break;
    case Answer::End::kNotStarted:
      out.outcome = Outcome::kFails;
      out.error = start_error(answer.log, model);
      break;
  }
  if (answer.end == Answer::End::kLoaded) {
    out.invalid_inodes = ids_of(answer.log.invalid_inodes);
    out.invalid_handles = ids_of(answer.log.invalid_handles);
  }
  if (answer.load.count() > 0) out.load_us = answer.load.count();
  out.reason = first_difference(model, out);
  out.agrees = out.reason.empty();
}

// Why the daemon is not to load this, or empty.
std::string refusal(const SnapshotDevice& device, const DeviceReport& report) {
  if (report.profile != Profile::kVirtiofsd) {
    return "CubeSandbox's loader is a part of its VMM: there is no daemon to ask";
  }
  if (!device.state) return "the snapshot holds no state for the device";
  if (report.restore.outcome == Outcome::kHangs) {
    return "a mount path of the state is a FIFO here: the daemon would hang";
  }
  const auto decoded = decode(*device.state, Reader::kVirtiofsd);
  if (!decoded) return {};
  const auto harm = daemon::harm_of(decoded->state);
  return harm ? "it would change files: " + *harm : std::string();
}

Rehearsal rehearse_device(const RehearseSettings& settings, const std::string& version,
                          const std::string& socket_directory, const SnapshotDevice& device,
                          const DeviceReport& report, sys::Deadline answer_by) {
  Rehearsal out;
  out.version = version;
  out.reason = refusal(device, report);
  if (!out.reason.empty()) return out;
  daemon::VirtiofsdStart how{settings.virtiofsd, settings.daemon_words, socket_directory, true};
  how.args.insert(how.args.end(),
                  {"--shared-dir", report.shared_dir, "--log-level", "info",
                   fmt::format("--migration-on-error={}", name_of(report.on_error))});
  const auto answer = daemon::rehearse(how, *device.state, answer_by);
  if (answer) take(*answer, report.restore, out);
  else out.reason = answer.error().text;
  return out;
}

// The daemon decides where it was asked: without its yes nothing is resumed, and against it nothing
// is destroyed.
void weigh(Report& report) {
  for (const DeviceReport& device : report.devices) {
    const Rehearsal& said = *device.rehearsal;
    const bool asked = said.outcome != Outcome::kUnknown;
    if (said.agrees || (!asked && report.verdict != Verdict::kResume)) continue;
    report.verdict = Verdict::kIndeterminate;
    if (!report.reason.empty()) continue;
    report.reason = fmt::format(
        "device {}: {}: {}", device.id,
        asked ? "the daemon and the prediction differ" : "the daemon did not confirm it", said.reason);
  }
}

void name_assumptions(const RehearseSettings& settings, const CheckRequest& request,
                      Report& report) {
  if (settings.read_only) {
    report.assumptions.emplace_back(
        "the share is bound read-only for the rehearsal: handles for writing fail here, and not in a "
        "restore");
  }
  if (!settings.check.request.switches.rlimit_nofile && request.switches.rlimit_nofile) {
    report.assumptions.push_back(fmt::format(
        "the daemon that restores has as many descriptors as it has here: --rlimit-nofile {}",
        *request.switches.rlimit_nofile));
  }
}

}  // namespace

Result<Report> rehearse_and_check(sys::Calls& calls, const RehearseSettings& settings,
                                  const std::string& socket_directory, sys::Deadline answer_by,
                                  const Progress& progress) {
  CheckRequest request = settings.check.request;
  if (calls.effective_uid() != 0) {
    return not_looked(request, std::nullopt, "a rehearsal needs root: it mounts, and the daemon too");
  }
  const std::string& program = settings.virtiofsd;
  progress(fmt::format("{} --version", program));
  VFSMEND_TRY_ASSIGN(const std::string version, settle(settings, answer_by, request));
  std::optional<ContainerKind> kind;
  progress(fmt::format("the snapshot {}", request.snapshot_path));
  const auto snapshot =
      open_snapshot(calls, request.snapshot_path, {request.overlay_file}, kind);
  if (!snapshot) return check(calls, request, progress);  // which tells why
  VFSMEND_TRY_ASSIGN(const auto shares, shares_of(request, *snapshot));
  auto mounts = sys::enter_private_mounts();
  if (mounts) mounts = bind_shares(shares, settings.read_only);
  if (!mounts) return not_looked(request, std::nullopt, mounts.error().text);
  VFSMEND_TRY_ASSIGN(Report report, check(calls, request, progress));
  if (report.devices.size() != snapshot->devices.size()) return report;  // could not look
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    DeviceReport& device = report.devices[i];
    progress(fmt::format("device {}: {} loads the state", device.id, program));
    device.rehearsal = rehearse_device(settings, version, socket_directory, snapshot->devices[i],
                                       device, answer_by);
  }
  weigh(report);
  name_assumptions(settings, request, report);
  return report;
}

}  // namespace vfsmend
