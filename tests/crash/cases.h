// SPDX-License-Identifier: Apache-2.0
// Each kind of snapshot on each kind of file system.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "poor_file_system.h"
#include "sample.h"

namespace vfsmend::test {

struct Case {
  Kind kind;
  Lacks lacks;
};

inline std::vector<Case> cases() {
  std::vector<Case> out;
  for (const Kind kind : {Kind::kRaw, Kind::kCube, Kind::kCloudHypervisor, Kind::kQemu}) {
    out.push_back({kind, {.name = "all"}});
    out.push_back({kind, {.name = "no_tmpfile", .tmpfile = true}});
    out.push_back({kind, {.name = "no_links", .tmpfile = true, .links = true, .at_once = 1000}});
  }
  return out;
}

inline void PrintTo(const Case& one, std::ostream* out) {
  *out << name_of(one.kind) << ", " << one.lacks.name;
}

inline std::string case_name(const testing::TestParamInfo<Case>& one) {
  return name_of(one.param.kind) + "_" + one.param.lacks.name;
}

}  // namespace vfsmend::test
