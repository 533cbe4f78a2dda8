// SPDX-License-Identifier: Apache-2.0
#include "report/explain.h"

#include <fmt/format.h>

#include "report/layout.h"

namespace vfsmend {
namespace {

std::string_view words_for(Severity severity) {
  switch (severity) {
    case Severity::kCorruption: return "C: wrong bytes or wider access, without an error";
    case Severity::kFailure: return "F: the restore fails, or the guest gets errors";
    case Severity::kWarning: return "W: a warning";
  }
  return "";
}

bool is_emitted(const CodeInfo& entry) { return !entry.commands.starts_with("no command"); }

}  // namespace

std::string explain(Code code, const TextStyle& style) {
  constexpr std::size_t kColumn = 14;
  const CodeInfo& entry = info(code);
  std::string out = paint(entry.id, Paint::kBold, style) + ' ' +
                    wrap(entry.name, style.width, 5, 5) + "\n\n";
  const auto line = [&](std::string_view name, std::string_view text) {
    out += definition(name, text, style.width, 2, kColumn);
  };
  line("severity", words_for(entry.severity));
  line("seen in", entry.evidence);
  line("verdict", entry.verdict);
  line("repair", entry.repair);
  line("emitted by", entry.commands);
  return out + "\n  " + wrap(entry.about, style.width, 2, 2) + '\n';
}

std::string explain_all(const TextStyle& style) {
  std::string out;
  bool marked = false;
  for (const CodeInfo& entry : all_codes()) {
    const bool emitted = is_emitted(entry);
    marked = marked || !emitted;
    out += paint(entry.id, emitted ? Paint::kBold : Paint::kDim, style);
    out += fmt::format(" {} {} ", static_cast<char>(entry.severity), emitted ? ' ' : '-');
    out += wrap(entry.name, style.width, 9, 9) + '\n';
  }
  out += '\n';
  out += wrap("C: wrong bytes or wider access without an error. F: a failed restore, or errors in "
              "the guest. W: a warning.", style.width, 0) + '\n';
  if (marked) {
    out += wrap("-: no command of this version emits it.", style.width, 0) + '\n';
  }
  return out + wrap("More about one: vfsmend explain CODE", style.width, 0) + '\n';
}

}  // namespace vfsmend
