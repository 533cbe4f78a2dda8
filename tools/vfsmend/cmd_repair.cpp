// SPDX-License-Identifier: Apache-2.0
// `vfsmend repair`: a worker plans; where a person has to be asked this process asks; a worker applies.
// With --extract a worker takes the stream out before that, and the rest is about the new file.
#include <fmt/format.h>

#include "report/json.h"
#include "report/redact.h"
#include "report/text.h"
#include "repair/apply.h"
#include "snapshot/extract.h"
#include "vfsmend/commands.h"
#include "vfsmend/looking.h"
#include "vfsmend/settings.h"

namespace vfsmend {
namespace {

RepairSummary summary_of(const RepairPlan& plan) {
  RepairSummary out;
  for (const DevicePlan& device : plan.devices) {
    for (const PlannedStep& step : device.steps) {
      out.steps.push_back({device.device, step.code, step.inode, step.handle, step.path, step.action,
                           step.safe, step.casualties, step.reason, step.precondition, step.inverse});
    }
    out.left.insert(out.left.end(), device.left.begin(), device.left.end());
  }
  return out;
}

class RepairRun {
 public:
  RepairRun(CheckSettings settings, bool force, NodeMapFile map, const Io& io)
      : settings_(std::move(settings)), force_(force), map_(std::move(map)), io_(io) {
    const bool to_file = !settings_.output.file.empty();
    style_ = {text_width(io, to_file), use_color(io, settings_.output.color, to_file)};
  }

  // The stream of the snapshot as the file `to`; how it is used, as data.
  Rendered extract(const std::string& wanted, const std::string& to, const Progress& progress) const {
    progress(fmt::format("the stream in {}", settings_.request.snapshot_path));
    const Result<Extracted> done = extract_stream(*io_.calls, *io_.changes, settings_.request.snapshot_path, wanted, to);
    if (!done && done.error().code == ErrorCode::kUsage) return usage(done.error());
    if (!done) {
      return render(not_looked(settings_.request, std::nullopt, done.error().text), exit_status::kOperational);
    }
    Rendered rendered;
    rendered.data = done->use;
    return rendered;
  }

  // From now on it is about that file.
  void go_on_with(std::string to, std::string use) {
    extracted_from_ = std::exchange(settings_.request.snapshot_path, std::move(to));
    use_ = std::move(use);
  }

  // With "<safe steps> <others>" as data.
  Rendered plan(const Progress& progress) const {
    Result<RepairPlan> plan = plan_repair(*io_.calls, settings_.request, Consent::kAll, progress, map_);
    if (!plan) return usage(plan.error());
    Report report = std::move(plan->before);
    plan->before = {};
    report.repair = summary(*plan);
    std::size_t safe = 0;
    for (const RepairStep& step : report.repair->steps) safe += step.safe ? 1 : 0;
    const std::size_t others = report.repair->steps.size() - safe;
    const int exit = exit_code(report.verdict);
    Rendered rendered = render(std::move(report), exit);
    rendered.data = fmt::format("{} {}", safe, others);
    return rendered;
  }

  Rendered apply(Consent consent, const Progress& progress) const {
    const RepairRequest request{settings_.request, consent, force_, map_};
    Result<RepairResult> result = repair_snapshot(*io_.calls, *io_.changes, request, progress);
    if (!result) return usage(result.error());
    if (!result->reason.empty()) {
      return render(not_looked(settings_.request, std::nullopt, result->reason), exit_status::kOperational);
    }
    Report report = std::move(result->after);
    report.repair = summary(result->plan);
    report.repair->applied = result->changed;
    report.repair->journal = result->journal;
    report.repair->kept = result->kept;
    const bool repaired = result->changed && report.verdict == Verdict::kResume;
    const int exit = repaired ? exit_status::kRepaired : exit_code(report.verdict);
    return render(std::move(report), exit);
  }

  Rendered unable(Unable why, const std::string& reason) const {
    const auto code = why == Unable::kDeadline ? std::optional(Code::kE001) : std::nullopt;
    const int exit = why == Unable::kCancelled ? exit_status::kCancelled : exit_status::kOperational;
    return render(not_looked(settings_.request, code, reason), exit);
  }

  template <typename Work>
  Rendered bounded(Work work) const {
    return look_bounded(settings_.run, work,
                        [this](Unable why, const std::string& reason) { return unable(why, reason); });
  }

 private:
  RepairSummary summary(const RepairPlan& plan) const {
    RepairSummary out = summary_of(plan);
    out.extracted_from = extracted_from_;
    out.use = use_;
    return out;
  }

  Rendered usage(const Error& error) const {
    return {exit_status::kUsage, "", message(settings_.run.trace_id, "repair: " + error.text)};
  }

  Rendered render(Report report, int exit) const {
    if (settings_.output.redact_paths) redact_paths(report);
    Rendered rendered;
    rendered.exit = exit;
    switch (settings_.output.format) {
      case Format::kJson: rendered.out = report_json(report, exit); break;
      case Format::kJsonLines: rendered.out = report_jsonl(report, exit); break;
      case Format::kText: rendered.out = report_text(report, exit, style_); break;
    }
    return rendered;
  }

  CheckSettings settings_;
  bool force_;
  NodeMapFile map_;
  const Io& io_;
  TextStyle style_;
  std::string extracted_from_;
  std::string use_;
};

bool agreed(const Io& io, const std::string& question) {
  const std::optional<std::string> answer = io.ask(question + " [y/N] ");
  return answer && (*answer == "y" || *answer == "Y" || *answer == "yes");
}

// A question a class; nothing where there is nothing to be done, or nothing may be.
std::optional<Consent> ask(const Io& io, const std::string& counts) {
  const bool safe = counts.substr(0, counts.find(' ')) != "0";
  const bool others = counts.substr(counts.find(' ') + 1) != "0";
  if (!safe && !others) return std::nullopt;
  if (safe && !agreed(io, "apply the steps that lose nothing?")) return std::nullopt;
  if (others && agreed(io, "apply those with casualties too?")) return Consent::kAll;
  return safe ? std::optional(Consent::kSafe) : std::nullopt;
}

Result<NodeMapFile> node_map_file(const Parsed& parsed) {
  NodeMapFile map{std::string(parsed.value("nodemap", "")), std::string(parsed.value("device", ""))};
  for (const char* name : {"nodemap", "device"}) {
    if (parsed.has(name) && parsed.value(name, "").empty()) return fail(ErrorCode::kUsage, fmt::format("--{}: an empty name", name));
  }
  if (parsed.has("device") && map.path.empty()) return fail(ErrorCode::kUsage, "--device: only beside --nodemap");
  return map;
}

Result<void> check_modes(const Parsed& parsed, const Io& io) {
  const int modes = (parsed.has("dry-run") ? 1 : 0) + (parsed.has("safe") ? 1 : 0) + (parsed.has("yes") ? 1 : 0);
  if (modes > 1) return fail(ErrorCode::kUsage, "-n, -p and -y: one of them");
  if (modes == 0 && !io.ask) {
    return fail(ErrorCode::kUsage, "no terminal to ask: say -n (show), -p (what loses nothing) or -y (all)");
  }
  if (parsed.has("vm-state") && !parsed.has("extract")) return fail(ErrorCode::kUsage, "--vm-state is for --extract");
  if (parsed.has("extract") && parsed.value("extract", "").empty()) {
    return fail(ErrorCode::kUsage, "--extract: an empty name");
  }
  return {};
}

}  // namespace

Result<int> cmd_repair(const Parsed& parsed, const Io& io) {
  if (parsed.has("finish")) return finish_repair_command(parsed, io);
  VFSMEND_TRY_ASSIGN(const CheckSettings settings, check_settings(parsed));
  VFSMEND_TRY(check_modes(parsed, io));
  const std::string& trace = settings.run.trace_id;
  for (const std::string& note : settings.run.notes) io.err(message(trace, note));
  VFSMEND_TRY_ASSIGN(NodeMapFile map, node_map_file(parsed));
  RepairRun run(settings, parsed.has("force"), std::move(map), io);
  if (parsed.has("extract")) {
    const std::string to(parsed.value("extract", ""));
    const std::string wanted(parsed.value("vm-state", ""));
    const Rendered taken = run.bounded(
        [&](const Progress& progress) { return run.extract(wanted, to, progress); });
    if (taken.data.empty()) return deliver(taken, trace, settings.output.file, io);
    run.go_on_with(to, taken.data);
  }
  std::optional<Consent> consent;
  if (parsed.has("safe")) consent = Consent::kSafe;
  if (parsed.has("yes")) consent = Consent::kAll;
  if (!consent) {
    const Rendered plan = run.bounded([&](const Progress& progress) { return run.plan(progress); });
    const int status = deliver(plan, trace, settings.output.file, io);
    if (!parsed.has("dry-run") && !plan.data.empty()) consent = ask(io, plan.data);
    if (!consent) return status;
  }
  const Rendered done = run.bounded([&](const Progress& progress) { return run.apply(*consent, progress); });
  return deliver(done, trace, settings.output.file, io);
}

}  // namespace vfsmend
