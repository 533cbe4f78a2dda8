// SPDX-License-Identifier: Apache-2.0
#include "report/paint.h"

#include <fmt/format.h>

namespace vfsmend {

std::string paint(std::string_view text, Paint how, const TextStyle& style) {
  if (!style.color || text.empty()) return std::string(text);
  int sgr = 1;
  switch (how) {
    case Paint::kBold: sgr = 1; break;
    case Paint::kDim: sgr = 2; break;
    case Paint::kRed: sgr = 31; break;
    case Paint::kGreen: sgr = 32; break;
    case Paint::kYellow: sgr = 33; break;
    case Paint::kMagenta: sgr = 35; break;
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", sgr, text);
}

Paint paint_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kResume: return Paint::kGreen;
    case Verdict::kRepair: return Paint::kYellow;
    case Verdict::kColdboot:
    case Verdict::kRebuild: return Paint::kRed;
    case Verdict::kIndeterminate: return Paint::kMagenta;
  }
  return Paint::kBold;
}

}  // namespace vfsmend
