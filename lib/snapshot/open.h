// SPDX-License-Identifier: Apache-2.0
// Finds out by content what a path is, and reads it. Only regular files are opened, read-only,
// and never more of them than is needed: a 4 GB migration file costs what its tail costs.
#pragma once

#include <string>

#include "snapshot/container.h"
#include "sys/calls.h"

namespace vfsmend {

struct OpenOptions {
  // The `cube.virtiofs` annotation of the resume: a JSON array of {id, backendfs_config}. Empty:
  // no overlay.
  std::string overlay_file;
};

// What was found, or why it cannot be said. Error codes:
//   kSystem       a file is missing or unreadable
//   kFormat       recognised, and damaged (torn, not JSON, a chunk list that does not add up)
//   kUnsupported  recognised, and not read by this version (libvirt save file, qcow2 with a
//                 savevm state, mapped-ram, multifd): the text says what to do instead
//   kNotAState    a directory or file that is nothing we know (a raw state is any other file:
//                 whether it is one is found out by decoding it)
//   kLimit        larger than the bounds below
// `recognised` gets the kind as soon as the content told it, also where the result is an error.
[[nodiscard]] Result<Snapshot> open_snapshot(sys::Calls& calls, const std::string& path,
                                             const OpenOptions& options,
                                             std::optional<ContainerKind>& recognised);

// Of a raw state file, or of the bytes of a state in a container.
inline constexpr std::uint64_t kMaxStateBytes = std::uint64_t{1} << 30;
// Of a state.json: a million inodes are 141 MB of it.
inline constexpr std::uint64_t kMaxStateJsonBytes = std::uint64_t{2} << 30;
// Of config.json, annotations and metadata.
inline constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{16} << 20;

}  // namespace vfsmend
