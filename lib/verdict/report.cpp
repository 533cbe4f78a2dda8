// SPDX-License-Identifier: Apache-2.0
#include "verdict/report.h"

namespace vfsmend {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kResume: return "resume";
    case Verdict::kRepair: return "repair";
    case Verdict::kColdboot: return "coldboot";
    case Verdict::kRebuild: return "rebuild";
    case Verdict::kIndeterminate: return "indeterminate";
  }
  return "?";
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSucceeds: return "succeeds";
    case Outcome::kFails: return "fails";
    case Outcome::kHangs: return "hangs";
    case Outcome::kUnknown: return "unknown";
  }
  return "?";
}

int exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::kResume: return 0;
    case Verdict::kRepair: return 4;
    case Verdict::kColdboot: return 2;
    case Verdict::kRebuild: return 5;
    case Verdict::kIndeterminate: return 8;
  }
  return 8;
}

}  // namespace vfsmend
