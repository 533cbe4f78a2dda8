// SPDX-License-Identifier: Apache-2.0
#include "verdict/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/text.h"
#include "snapshot/open.h"
#include "state/guess.h"
#include "verdict/destination_of.h"
#include "verdict/device_check.h"
#include "verdict/manifest_of.h"
#include "verdict/preconditions.h"
#include "verdict/share.h"

namespace vfsmend {
namespace {

// An inode has 20 to 30 bytes in a state, and about 250 in what is made of it here.
constexpr std::uint64_t kMemoryPerStateByte = 10;

// A container that is damaged: torn by a full disk or a crash, or not finished yet.
void judge_damaged(const Error& error, Report& report) {
  Finding finding;
  finding.code = Code::kS002;
  finding.verdict = Verdict::kColdboot;
  finding.message = error.text;
  finding.guest_sees = "nothing: the restore fails";
  report.findings.push_back(std::move(finding));
  report.counts["S002"] += 1;
  report.verdict = worst(report.verdict, Verdict::kColdboot);
}

void judge_changed(const std::string& file, Report& report) {
  Finding finding;
  finding.code = Code::kS002;
  finding.verdict = Verdict::kIndeterminate;
  finding.message = fmt::format("{} changed while it was looked at: it is still being written", file);
  finding.guest_sees = "nothing yet: wait until the pause has ended, then check again";
  report.findings.push_back(std::move(finding));
  report.counts["S002"] += 1;
  report.verdict = Verdict::kIndeterminate;
}

void add_device(DeviceOutcome outcome, Report& report) {
  report.verdict = worst(report.verdict, outcome.report.verdict);
  if (report.reason.empty() && !outcome.operational.empty()) {
    report.reason = fmt::format("device {}: {}", outcome.report.id, outcome.operational);
  }
  for (const auto& [code, n] : outcome.counts) report.counts[code] += n;
  for (std::string& assumption : outcome.assumptions) {
    if (std::ranges::find(report.assumptions, assumption) == report.assumptions.end()) {
      report.assumptions.push_back(std::move(assumption));
    }
  }
  report.timing.decode += outcome.timing.decode;
  report.timing.walk += outcome.timing.walk;
  report.timing.hash += outcome.timing.hash;
  report.devices.push_back(std::move(outcome.report));
}

// The record of the capture, if there is one; false where it is there and cannot be used.
Result<bool> find_record(sys::Calls& calls, const CheckRequest& request, const Progress& progress,
                         std::optional<FoundManifest>& found, RecordOptions& options,
                         Report& report) {
  options = request.record;
  VFSMEND_TRY_ASSIGN(options.policy, read_policy(calls, request.policy_file));
  progress("the manifest");
  auto manifest = manifest_of(calls, request);
  if (!manifest) {
    if (manifest.error().code == ErrorCode::kUsage) return tl::make_unexpected(manifest.error());
    report.reason = manifest.error().text;
    report.verdict = Verdict::kIndeterminate;
    return false;
  }
  found = *std::move(manifest);
  if (found) {
    options.manifest = &found->manifest;
    options.manifest_path = found->info.path;
    options.manifest_directory = found->directory.get();
    options.distrust = found->distrust;
    report.manifest = found->info;
  }
  return true;
}

Result<void> check_devices(sys::Calls& calls, const CheckRequest& request,
                           const Snapshot& snapshot, const Progress& progress,
                           const JudgeDevice& judge, Report& report) {
  VFSMEND_TRY_ASSIGN(const auto shares, shares_of(request, snapshot));
  std::optional<FoundManifest> found;
  RecordOptions options;
  VFSMEND_TRY_ASSIGN(const bool usable,
                     find_record(calls, request, progress, found, options, report));
  if (!usable) return {};
  if (request.mount_namespace_of != 0) {
    report.reason = enter_mount_namespace(calls, request.mount_namespace_of);
    if (!report.reason.empty()) {
      report.verdict = Verdict::kIndeterminate;
      return {};
    }
  }
  for (std::size_t i = 0; i < snapshot.devices.size(); ++i) {
    const SnapshotDevice& device = snapshot.devices[i];
    progress(fmt::format("device {}", device.id));
    if (request.expect_memory && device.state) {
      request.expect_memory(device.state->size() * kMemoryPerStateByte);
    }
    const bool known =
        snapshot.kind != ContainerKind::kRaw || request.profile || request.dialect;
    const auto dialect = known || !device.state ? request.dialect : guess_dialect(*device.state);
    VFSMEND_TRY_ASSIGN(Destination destination,
                       destination_of(request, snapshot.kind, device, dialect, shares[i]));
    destination.allow_rebind = request.record.allow_rebind;
    DeviceInput input{calls, device, snapshot.kind, std::move(destination)};
    input.reader_known = known;
    input.judge_elsewhere = !request.profile;
    input.max_findings = request.max_findings;
    if (found) {
      input.options = &options;
      input.recorded = section_of(found->manifest, device.id);
      if (!input.recorded) {
        report.assumptions.push_back(fmt::format("device {}: the manifest has no record of it", device.id));
      }
    }
    add_device(judge(std::move(input), progress), report);
    for (const std::string& note : device.notes) {
      report.assumptions.push_back(fmt::format("device {}: {}", device.id, note));
    }
  }
  if (snapshot.devices.empty()) {
    report.assumptions.emplace_back("the snapshot has no virtio-fs device: nothing to restore");
  }
  for (const std::string& note : snapshot.notes) report.assumptions.push_back(note);
  for (const std::string& file : snapshot.not_read) {
    report.assumptions.push_back(fmt::format("not read: {}", file));
  }
  return {};
}

}  // namespace

Report not_looked(const CheckRequest& request, std::optional<Code> code, std::string reason) {
  Report report;
  report.trace_id = request.trace_id;
  report.snapshot_path = request.snapshot_path;
  report.verdict = Verdict::kIndeterminate;
  report.reason = std::move(reason);
  if (code) {
    Finding finding;
    finding.code = *code;
    finding.verdict = Verdict::kIndeterminate;
    finding.message = report.reason;
    finding.guest_sees = "nothing yet: do not resume, and do not destroy";
    report.findings.push_back(std::move(finding));
    report.counts[std::string(info(*code).id)] = 1;
  }
  return report;
}

Result<Report> check(sys::Calls& calls, const CheckRequest& request, const Progress& progress) {
  return check_by(calls, request, progress, check_device);
}

Result<Report> check_by(sys::Calls& calls, const CheckRequest& request, const Progress& progress,
                        const JudgeDevice& judge) {
  const auto start = std::chrono::steady_clock::now();
  if (std::string why = cannot_look(calls); !why.empty()) {
    return not_looked(request, std::nullopt, std::move(why));
  }
  Report report;
  report.trace_id = request.trace_id;
  report.snapshot_path = request.snapshot_path;
  progress(fmt::format("the snapshot {}", request.snapshot_path));
  const auto snapshot = open_snapshot(calls, request.snapshot_path, {request.overlay_file},
                                      report.container);
  if (snapshot) {
    report.container = snapshot->kind;
    VFSMEND_TRY(check_devices(calls, request, *snapshot, progress, judge, report));
    // In another mount namespace the snapshot's paths mean nothing any more.
    const auto changed = request.mount_namespace_of == 0 ? changed_files(calls, snapshot->files)
                                                         : std::vector<std::string>();
    if (!changed.empty()) judge_changed(changed.front(), report);
  } else if (snapshot.error().code == ErrorCode::kFormat && report.container) {
    judge_damaged(snapshot.error(), report);
  } else if (snapshot.error().code == ErrorCode::kUsage) {
    return tl::make_unexpected(snapshot.error());
  } else {
    Report refused = not_looked(request, std::nullopt, snapshot.error().text);
    refused.container = report.container;
    return refused;
  }
  report.timing.total = std::chrono::duration_cast<std::chrono::microseconds>(
                            std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace vfsmend
