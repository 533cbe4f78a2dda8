// SPDX-License-Identifier: Apache-2.0
// What the fuzzers call with their inputs, and the replay of the corpora with what they found.
// Each aborts where something that must always hold does not.
#pragma once

#include <array>
#include <ostream>
#include <string_view>

#include "base/bytes.h"

namespace vfsmend::fuzz {

// A device state, read by every reader.
void fuzz_state(Bytes input);
// A snapshot directory: config.json, a NUL, state.json; or a state.json alone.
void fuzz_state_json(Bytes input);
// A file: a QEMU stream, or what else a path may be.
void fuzz_qemu(Bytes input);

// A manifest, and what it is with its checksums made right.
void fuzz_manifest(Bytes input);

// A policy, a NUL, a path that it is asked about; or a policy alone.
void fuzz_policy(Bytes input);

// A node map of a guest.
void fuzz_nodemap(Bytes input);

struct Target {
  std::string_view name;  // of the corpus folder too
  void (*run)(Bytes input);
  // For the names of the replay's tests.
  friend std::ostream& operator<<(std::ostream& out, const Target& t) { return out << t.name; }
};
inline constexpr std::array kTargets = {
    Target{"fuzz_state", fuzz_state},
    Target{"fuzz_state_json", fuzz_state_json},
    Target{"fuzz_qemu", fuzz_qemu},
    Target{"fuzz_manifest", fuzz_manifest},
    Target{"fuzz_policy", fuzz_policy},
    Target{"fuzz_nodemap", fuzz_nodemap},
};

}  // namespace vfsmend::fuzz
