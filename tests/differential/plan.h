// SPDX-License-Identifier: Apache-2.0
// A case of the differential test as data: which daemons, and steps one after the other. A plan is
// made from a seed, can be shortened step by step, and has a text form that is played again:
//
//   plan  = "share" SP filesystem LF
//           "save" (SP word)* LF            switches of the daemon that the guest works with
//           "load" (SP word)* LF            switches of the daemons that load
//           (step LF)*
//   step  = kind SP path SP path SP number SP number      "-" stands for an empty path
//
// In words and paths a byte that is not a printable character, "%", and a "-" that is all is %XX.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfsmend::differential {

enum class Kind : std::uint8_t {
  // the tree; before the session and, as changes on the host, between save and load
  kMkdir, kFile, kHardLink, kSymlink, kFifo, kSocket, kDevice, kBind, kUnmount, kReadOnly,
  kRemove, kRename, kExchange, kReplace, kChmod, kImmutable,
  // the guest
  kLookup, kForget, kOpen, kOpenDir, kCreate, kGuestUnlink, kGuestRename, kWrite,
  kSave,    // the state is saved; what stands behind it is on the host
  // a round: changes on the host, damage to a copy of the state, then the load
  kDamage,  // a: one of damage.h's; n, m: places in it
  kLoad,    // n: the dice of the file that is repaired
};

struct Step {
  Kind kind{};
  std::string a;
  std::string b;
  std::uint64_t n = 0;
  std::uint64_t m = 0;
};

struct Plan {
  std::size_t filesystem = 0;  // of the share: index into the bases that there are
  std::vector<std::string> save_words;
  std::vector<std::string> load_words;
  std::vector<Step> steps;
};

[[nodiscard]] std::string_view name_of(Kind kind);
[[nodiscard]] std::string to_text(const Plan& plan);
[[nodiscard]] std::optional<Plan> from_text(std::string_view text);

// The plan of `seed`, with `rounds` loads; the same on every machine.
[[nodiscard]] Plan generate(std::uint64_t seed, unsigned rounds);

}  // namespace vfsmend::differential
