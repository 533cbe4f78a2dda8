// SPDX-License-Identifier: Apache-2.0
// The disks that a power cut after any of a run's changes may leave.
//
// Sure is what a sync of the file (its content, mode, owner) or of the directory (its names) came
// after. Of the rest each may be there or not, in every combination: of the names each change by
// itself, whatever came before it; of a file's content nothing, all, its first half, or its size
// with zeros. No file system is known to lose in more ways; most lose in fewer.
#pragma once

#include <vector>

#include "disk.h"
#include "recording_changes.h"

namespace vfsmend::test {

struct PowerCuts {
  std::size_t states = 0;  // that were found, the same ones counted each time
  std::vector<Disk> different;
  std::vector<Disk> at_end;  // when the run was through
};

[[nodiscard]] PowerCuts power_cuts(const Disk& start, const std::vector<Change>& log);

}  // namespace vfsmend::test
