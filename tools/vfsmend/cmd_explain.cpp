// SPDX-License-Identifier: Apache-2.0
// `vfsmend explain`: the table of codes, for people.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "report/explain.h"
#include "verdict/codes.h"
#include "vfsmend/commands.h"
#include "vfsmend/output.h"
#include "vfsmend/suggest.h"

namespace vfsmend {

Result<int> cmd_explain(const Parsed& parsed, const Io& io) {
  VFSMEND_TRY_ASSIGN(const ColorWhen color, color_setting(parsed));
  const TextStyle style{text_width(io, false), use_color(io, color, false)};
  Rendered rendered;
  if (parsed.operands.empty()) rendered.out = explain_all(style);
  for (const std::string& word : parsed.operands) {
    const std::optional<Code> code = code_named(word);
    if (!code) {
      std::vector<std::string> known;
      for (const CodeInfo& entry : all_codes()) known.emplace_back(entry.id);
      const std::string meant = did_you_mean(word, known);
      return fail(ErrorCode::kUsage,
                  fmt::format("\"{}\" is no code{}", printable(word),
                              meant.empty() ? "; `vfsmend explain` lists them" : meant));
    }
    if (!rendered.out.empty()) rendered.out += '\n';
    rendered.out += explain(*code, style);
  }
  return deliver(rendered, "", "", io);
}

}  // namespace vfsmend
