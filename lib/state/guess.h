// SPDX-License-Identifier: Apache-2.0
// Which dialect is a raw state, when neither a container nor the user says so?
#pragma once

#include <optional>

#include "state/codec.h"

namespace vfsmend {

// True where `state` has the marks of a healthy writer: one root record, unique ids below the
// next ones, parents and handles' inodes that exist. What every program guarantees, and what a
// wrong dialect's reading of the same bytes breaks at once.
[[nodiscard]] bool looks_healthy(const State& state);

// The best reading of `bytes`, or nothing if no dialect reads them: one that uses all bytes and
// looks healthy, before one that uses all bytes, before one that leaves some. Among equals
// virtiofsd's stand before cube-v1. A state without Path is the same in v1 and cube-v1.
[[nodiscard]] std::optional<Decoded> decode_guessing(Bytes bytes);
[[nodiscard]] std::optional<Dialect> guess_dialect(Bytes bytes);

}  // namespace vfsmend
