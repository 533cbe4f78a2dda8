// SPDX-License-Identifier: Apache-2.0
// What a repair is about to do, on disk before it does it, and enough to take it back.
//
//   {"schema":"vfsmend.journal/1","tool":..,"time":..,"snapshot":..,"file":..,"kept":..,
//    "size_before":n,
//    "done":false,
//    "states":[{"device":..,"before":xxh3,"after":xxh3}],
//    "host":[{"device":..,"share":..,"objects":[..],"hidden":[..]}],     (journal_host.h)
//    "steps":[{"device":..,"code":..,"inode":..,"handle":..,"path":..,"action":..,"casualties":[..]}]}
//
// One JSON document. It is written whole (sys/atomic_file) before the first change. Where objects of the
// host change it is written once more behind the last, with "done": until then they may be half-way. An
// undoing takes the "done" away first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "repair/plan.h"
#include "sys/calls.h"
#include "sys/changes.h"

namespace vfsmend {

struct JournalState {
  std::string device;
  std::string before;  // state_digest()
  std::string after;
};

// What is changed on the host for a device.
struct JournalHost {
  std::string device;
  std::string share;  // absolute
  HostWork work;
};

struct Journal {
  std::string snapshot;  // as it was given to the repair
  std::string file;      // absolute: what is replaced
  std::string kept;      // absolute: the original, where it is kept
  std::uint64_t size_before = 0;  // bytes of the file
  bool done = false;              // the repair came to its end
  std::vector<JournalState> states;
  std::vector<JournalHost> host;
};

// With the steps of the plan, for people.
[[nodiscard]] std::string journal_text(const Journal& journal, const RepairPlan& plan,
                                       std::string_view time);

// kFormat names the place; kSystem. At most 64 MiB.
[[nodiscard]] Result<Journal> read_journal(sys::Calls& calls, const std::string& path);

// Says in a journal that objects may be half-way from now on, as before an undoing, and notes the times
// that shares have now. kSystem.
[[nodiscard]] Result<void> reopen_journal(sys::Calls& calls, sys::Changes& changes,
                                          const std::string& path, const Journal& journal);

}  // namespace vfsmend
