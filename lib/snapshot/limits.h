// SPDX-License-Identifier: Apache-2.0
// How much of a snapshot is read: all of it is somebody else's, and may be made to hurt.
#pragma once

#include <cstdint>

namespace vfsmend {

// Of a raw state file, or of the bytes of a state in a container.
inline constexpr std::uint64_t kMaxStateBytes = std::uint64_t{1} << 30;
// Of a state.json: a million inodes are 141 MB of it.
inline constexpr std::uint64_t kMaxStateJsonBytes = std::uint64_t{2} << 30;
// Of config.json, annotations and metadata.
inline constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{16} << 20;

}  // namespace vfsmend
