// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/layout.h"
#include "report/text_findings.h"

namespace vfsmend {
namespace {

std::string line(std::string_view text, std::size_t indent, const TextStyle& style) {
  return std::string(indent, ' ') + wrap(text, style.width, indent + 2, indent) + '\n';
}

using Row = std::array<std::string, 6>;
constexpr std::array<bool, 6> kRight = {false, false, true, true, false, false};

Row row_of(const DeviceReport& device) {
  return {printable(device.id),
          device.dialect ? std::string(name_of(*device.dialect)) : "-",
          std::to_string(device.inodes),
          std::to_string(device.handles),
          std::string(name_of(device.profile)),
          std::string(name_of(device.verdict))};
}

std::string padded(const std::string& cell, std::size_t width, bool right) {
  const std::string room(width - columns_of(cell), ' ');
  return right ? room + cell : cell + room;
}

std::string table(const Report& report, const TextStyle& style) {
  std::vector<Row> rows = {{"device", "dialect", "inodes", "handles", "profile", "verdict"}};
  for (const DeviceReport& device : report.devices) rows.push_back(row_of(device));
  std::array<std::size_t, 6> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], columns_of(row[i]));
    }
  }
  std::size_t total = 2 * (widths.size() - 1);
  for (const std::size_t width : widths) total += width;
  std::string out;
  if (total > style.width) {  // too narrow for columns
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const Row& r = rows[i];
      out += line(fmt::format("{}: {}, inodes: {}, handles: {}, {}: {}", r[0], r[1], r[2], r[3],
                              r[4], r[5]), 0, style);
    }
    return out;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k + 1 < rows[i].size(); ++k) {
      out += padded(rows[i][k], widths[k], kRight[k]) + "  ";
    }
    const Paint how = i == 0 ? Paint::kBold : paint_of(report.devices[i - 1].verdict);
    out += (i == 0 ? rows[i][5] : paint(rows[i][5], how, style)) + '\n';
  }
  return out;
}

std::string ids_text(std::string_view what, const std::vector<std::uint64_t>& ids) {
  constexpr std::size_t kShown = 8;
  const std::size_t shown = std::min(kShown, ids.size());
  std::string out = fmt::format("{} dead: {}", counted(ids.size(), what),
                                fmt::join(std::span(ids).first(shown), ", "));
  return ids.size() == shown ? out : fmt::format("{} and {} more", out, ids.size() - shown);
}

std::string outcome_text(Outcome outcome, bool dead_mount) {
  switch (outcome) {
    case Outcome::kSucceeds:
      return dead_mount ? "succeeds, and the whole mount is dead" : "succeeds";
    case Outcome::kFails: return "fails";
    case Outcome::kHangs: return "hangs for ever";
    case Outcome::kUnknown: return "cannot be foretold";
  }
  return "";
}

// One line a result, with all the loaders that come to it. Only virtiofsd's policy is a choice.
std::string elsewhere_text(const DeviceReport& device, const TextStyle& style) {
  std::vector<std::pair<std::string, std::string>> results;  // of whom
  for (const Elsewhere& other : device.elsewhere) {
    std::string who(name_of(other.profile));
    if (other.profile == Profile::kVirtiofsd) who += fmt::format(" {}", name_of(other.on_error));
    std::string what = outcome_text(other.outcome, other.dead_mount);
    if (other.error) {
      what += other.error == device.restore.error ? " alike" : ": " + printable(*other.error);
    }
    const auto same = std::find_if(results.begin(), results.end(),
                                   [&](const auto& result) { return result.first == what; });
    if (same == results.end()) results.emplace_back(std::move(what), std::move(who));
    else same->second += ", " + who;
  }
  std::string out;
  for (const auto& [what, who] : results) {
    out += line(fmt::format("elsewhere ({}): {}", who, what), 2, style);
  }
  return out;
}

// The daemon beside the model: one line where they agree.
std::string rehearsal_text(const Rehearsal& rehearsal, const TextStyle& style) {
  const std::string who =
      rehearsal.version.empty() ? "the daemon" : "virtiofsd " + printable(rehearsal.version);
  if (rehearsal.outcome == Outcome::kUnknown) {
    return line(fmt::format("{} gave no answer: {}", who, printable(rehearsal.reason)), 2, style);
  }
  std::string out = fmt::format("{} {}: the load {}", who,
                                rehearsal.agrees ? "says the same" : "says otherwise",
                                outcome_text(rehearsal.outcome, false));
  if (rehearsal.load_us) out += fmt::format(", after {:.1f} ms", static_cast<double>(*rehearsal.load_us) / 1e3);
  out = line(out, 2, style);
  if (rehearsal.agrees) return out;
  if (rehearsal.error) out += "    " + printable(*rehearsal.error) + '\n';
  return out + line(printable(rehearsal.reason), 4, style);
}

// The loader's text stands on a line of its own and is not broken, to be searched for in logs.
std::string restore_text(const DeviceReport& device, const TextStyle& style) {
  const Restore& restore = device.restore;
  std::string out = line(fmt::format("{}: under {} the restore {}{}", printable(device.id),
                                     name_of(device.on_error),
                                     outcome_text(restore.outcome, restore.dead_mount),
                                     restore.error ? ":" : ""), 0, style);
  if (restore.error) out += "    " + printable(*restore.error) + '\n';
  if (restore.wrapped) out += "  the platform prints:\n    " + printable(*restore.wrapped) + '\n';
  if (!restore.invalid_inodes.empty()) {
    out += line(ids_text("inode", restore.invalid_inodes), 2, style);
  }
  if (!restore.invalid_handles.empty()) {
    out += line(ids_text("handle", restore.invalid_handles), 2, style);
  }
  if (device.rehearsal) out += rehearsal_text(*device.rehearsal, style);
  return out + elsewhere_text(device, style);
}

// Steps of one kind together: a lost tree is a thousand of them.
std::string repair_text(const RepairSummary& repair, const TextStyle& style) {
  constexpr std::size_t kShown = 8;
  std::string out = "\n" + line(fmt::format("{} {}", counted(repair.steps.size(), "step"),
                                            repair.applied ? "applied" : "to be applied"),
                                0, style);
  std::size_t shown = 0;
  for (const RepairStep& step : repair.steps) {
    if (++shown > kShown) continue;
    std::string who = step.inode ? fmt::format("inode {}", *step.inode) : "";
    if (!step.path.empty()) who += fmt::format(" ({})", printable(step.path));
    if (step.handle) who += fmt::format("{}handle {}", who.empty() ? "" : ", ", *step.handle);
    if (!who.empty()) who.insert(0, " ");
    out += line(fmt::format("{}{}: {}{}", info(step.code).id, who, printable(step.action),
                            step.safe || step.casualties.empty() ? "" : " (has casualties)"), 2, style);
    for (const std::string& lost : step.casualties) out += line("lost: " + printable(lost), 4, style);
  }
  if (shown > kShown) out += line(fmt::format("and {} more", shown - kShown), 2, style);
  for (std::size_t i = 0; i < std::min(kShown, repair.left.size()); ++i) {
    out += line("left: " + printable(repair.left[i]), 2, style);
  }
  if (repair.left.size() > kShown) out += line(fmt::format("and {} more left", repair.left.size() - kShown), 2, style);
  if (!repair.kept.empty()) out += line("original: " + printable(repair.kept), 2, style);
  if (!repair.journal.empty()) out += line("to take it back: vfsmend undo " + printable(repair.journal), 2, style);
  return out;
}

std::string next_step(const Report& report) {
  if (report.repair && report.repair->applied && report.verdict == Verdict::kResume) {
    return "resume the sandbox, then list the mount root in the guest: what it looked up before heals then";
  }
  std::string code;
  for (const DeviceReport& device : report.devices) {
    if (device.verdict == report.verdict && !device.findings.empty() && code.empty()) {
      code = info(device.findings.front().code).id;
    }
  }
  if (code.empty() && !report.findings.empty()) code = info(report.findings.front().code).id;
  if (report.verdict == Verdict::kIndeterminate) {
    return code.empty() ? "see to the cause, then run the same check again; destroy nothing"
                        : fmt::format("vfsmend explain {}; then run the same check again; destroy "
                                      "nothing", code);
  }
  if (code.empty()) return "resume the sandbox";
  if (report.verdict == Verdict::kResume) {
    return fmt::format("resume the sandbox; about the warning: vfsmend explain {}", code);
  }
  return fmt::format("vfsmend explain {}", code);
}

}  // namespace

std::string report_text(const Report& report, int exit_code, const TextStyle& style) {
  std::string head = printable(report.snapshot_path);
  if (report.container) head += fmt::format(" ({})", name_of(*report.container));
  if (!report.trace_id.empty()) head += fmt::format(", trace {}", printable(report.trace_id));
  std::string out = line(head, 0, style);
  if (report.manifest) {
    out += line(fmt::format("compared with the capture of {} ({})", printable(report.manifest->time),
                            printable(report.manifest->path)), 0, style);
  }
  if (!report.reason.empty() && report.findings.empty()) {
    out += line("could not be judged: " + printable(report.reason), 0, style);
  }
  if (!report.devices.empty()) out += '\n' + table(report, style);
  if (!report.findings.empty()) {
    out += findings_text(report.findings, report.devices.empty()
                                                     ? report.counts
                                                     : std::map<std::string, std::uint64_t>(),
                                style);
  }
  for (const DeviceReport& device : report.devices) {
    out += '\n' + restore_text(device, style);
    // Counts are of the whole report: they say how many this device has where it is the only one.
    const bool only = report.devices.size() == 1 && report.findings.empty();
    out += findings_text(device.findings,
                         only ? report.counts : std::map<std::string, std::uint64_t>(), style);
  }
  if (!report.assumptions.empty()) out += '\n';
  for (const std::string& text : report.assumptions) {
    const bool assumed = !text.starts_with("not read: ");
    out += line((assumed ? "assumed: " : "") + printable(text), 0, style);
  }
  const bool has_plan = report.repair && (!report.repair->steps.empty() || !report.repair->left.empty());
  if (has_plan) out += repair_text(*report.repair, style);
  if (report.repair && !report.repair->use.empty()) {
    out += "\n" + line("taken out of " + printable(report.repair->extracted_from), 0, style) +
           line("to use it: " + printable(report.repair->use), 0, style);
  }
  return out + fmt::format("\nverdict: {} (exit {})\nnext: {}\n",
                           paint(name_of(report.verdict), paint_of(report.verdict), style),
                           exit_code, next_step(report));
}

}  // namespace vfsmend
