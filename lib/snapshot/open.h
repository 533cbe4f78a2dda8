// SPDX-License-Identifier: Apache-2.0
// Finds out by content what a path is, and reads it. Only regular files are opened, read-only,
// and never more of them than is needed: a 4 GB migration file costs what its tail costs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "snapshot/container.h"
#include "snapshot/limits.h"
#include "sys/calls.h"

namespace vfsmend {

struct OpenOptions {
  // The `cube.virtiofs` annotation of the resume: a JSON array of {id, backendfs_config}. Empty:
  // no overlay.
  std::string overlay_file;
};

// What was found, or why it cannot be said. Error codes:
//   kSystem       a file is missing or unreadable, or changed while it was read: is being written
//   kUsage        the overlay is missing or damaged, or the snapshot is not CubeSandbox's
//   kFormat       recognised, and damaged (torn, not JSON, a chunk list that does not add up)
//   kUnsupported  recognised, and not read by this version: a libvirt save file, a qcow2 image with
//                 a VM state, mapped-ram, multifd (the text says what to do instead), or a sound
//                 JSON file whose keys have other values than we know
//   kNotAState    a directory or file that is nothing we know (a raw state is any other file:
//                 whether it is one is found out by decoding it)
//   kLimit        larger than the bounds of limits.h
// `recognised` gets the kind as soon as the content told it, also where the result is an error.
[[nodiscard]] Result<Snapshot> open_snapshot(sys::Calls& calls, const std::string& path,
                                             const OpenOptions& options,
                                             std::optional<ContainerKind>& recognised);

// Those of `files` that are not as they were: their size, their times or the object itself. To be
// asked when all was looked at: a snapshot that is still being written tells nothing.
[[nodiscard]] std::vector<std::string> changed_files(sys::Calls& calls,
                                                     const std::vector<ReadFile>& files);

}  // namespace vfsmend
