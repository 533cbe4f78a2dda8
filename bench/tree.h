// SPDX-License-Identifier: Apache-2.0
// Shares of a given number of inodes and the states that name them, made once a process.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "state/fs_state.h"

namespace vfsmend::bench {

struct Fixture {
  std::string share;       // the directory; one in ten of its entries is a directory
  std::string state_file;  // the state as a raw file, outside the share
  ByteVector state;        // the same bytes
  std::uint64_t inodes = 0;
};

// The fixture of `inodes` looked-up inodes (the root included), below the directory that
// VFSMEND_BENCH_DIR names, else below the temporary directory. Its files are empty: what is
// measured is looking, not reading. Removed when the process ends.
[[nodiscard]] const Fixture& fixture(std::uint64_t inodes);

// The state alone, for what does not look at the host.
[[nodiscard]] ByteVector state_of(std::uint64_t inodes);

}  // namespace vfsmend::bench
