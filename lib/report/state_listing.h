// SPDX-License-Identifier: Apache-2.0
// What `inspect` shows: the devices of a snapshot with their states decoded, as far as they can be.
// For programs as vfsmend.state/1 (docs/state.schema.json), where the structs of the wire and their
// fields bear their own names, and for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/paint.h"
#include "snapshot/container.h"
#include "state/codec.h"

namespace vfsmend {

struct ListedDevice {
  SnapshotDevice device;
  std::optional<Decoded> decoded;  // borrows from device.state
  std::optional<DecodeFailure> failure;
};

struct StateListing {
  std::string trace_id;
  std::string snapshot_path;
  std::optional<ContainerKind> container;
  std::vector<ListedDevice> devices;
  std::vector<std::string> not_read;
  std::string reason;  // not empty: why something, or everything, could not be read
  bool redact_paths = false;
};

// Decodes every state in `snapshot`, with the reader of `dialect`, or else the one that the
// container is meant for; of a raw state that reads best.
[[nodiscard]] StateListing list_states(Snapshot snapshot, std::optional<Dialect> dialect);

// One document on one line.
[[nodiscard]] std::string state_json(const StateListing& listing, int exit_code);

[[nodiscard]] std::string state_text(const StateListing& listing, const TextStyle& style);

}  // namespace vfsmend
