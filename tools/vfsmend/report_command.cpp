// SPDX-License-Identifier: Apache-2.0
#include "vfsmend/report_command.h"

#include <fmt/format.h>

#include "report/json.h"
#include "report/redact.h"
#include "report/text.h"
#include "vfsmend/output.h"

namespace vfsmend {
namespace {

Rendered render(Report report, int exit, const OutputSettings& output, const TextStyle& style) {
  if (output.redact_paths) redact_paths(report);
  Rendered rendered;
  rendered.exit = exit;
  switch (output.format) {
    case Format::kJson: rendered.out = report_json(report, exit); break;
    case Format::kJsonLines: rendered.out = report_jsonl(report, exit); break;
    case Format::kText: rendered.out = report_text(report, exit, style); break;
  }
  return rendered;
}

}  // namespace

int run_report_command(std::string_view command, const CheckSettings& settings, const Io& io,
                       const std::function<Result<Report>(const Progress&)>& make) {
  const CheckRequest& request = settings.request;
  const std::string& trace = settings.run.trace_id;
  const bool to_file = !settings.output.file.empty();
  // Decided here: the worker has no terminal.
  const TextStyle style{text_width(io, to_file), use_color(io, settings.output.color, to_file)};
  for (const std::string& note : settings.run.notes) io.err(message(trace, note));

  const auto look = [&](const Progress& progress) -> Rendered {
    Result<Report> report = make(progress);
    if (!report) {
      const std::string text = fmt::format("{}: {}", command, report.error().text);
      return {exit_status::kUsage, "", message(trace, text)};
    }
    const int exit = exit_code(report->verdict);
    return render(*std::move(report), exit, settings.output, style);
  };
  const auto unable = [&](Unable why, const std::string& reason) -> Rendered {
    const int exit =
        why == Unable::kCancelled ? exit_status::kCancelled : exit_status::kOperational;
    const auto code = why == Unable::kDeadline ? std::optional(Code::kE001) : std::nullopt;
    Rendered rendered = render(not_looked(request, code, reason), exit, settings.output, style);
    // A text says it by itself; and the stage may name a file, which only the report redacts.
    const bool told = settings.output.format == Format::kText && !to_file;
    if (!told && !settings.output.redact_paths) rendered.err = message(trace, reason);
    return rendered;
  };
  return deliver(look_bounded(settings.run, look, unable), trace, settings.output.file, io);
}

}  // namespace vfsmend
