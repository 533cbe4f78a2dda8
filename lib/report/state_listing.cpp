// SPDX-License-Identifier: Apache-2.0
#include "report/state_listing.h"

#include <fmt/format.h>

#include "state/guess.h"

namespace vfsmend {
namespace {

Reader reader_of(ContainerKind kind) {
  return kind == ContainerKind::kCube ? Reader::kCube : Reader::kVirtiofsd;
}

void decode_device(ListedDevice& listed, ContainerKind kind, std::optional<Dialect> dialect) {
  if (!listed.device.state) return;
  const Bytes bytes = *listed.device.state;
  if (!dialect && kind == ContainerKind::kRaw) {
    listed.decoded = decode_guessing(bytes);
    if (listed.decoded) return;
  }
  auto decoded = decode(bytes, dialect ? reader_for(*dialect) : reader_of(kind));
  if (decoded) listed.decoded = *std::move(decoded);
  else listed.failure = std::move(decoded).error();
}

}  // namespace

StateListing list_states(Snapshot snapshot, std::optional<Dialect> dialect) {
  StateListing listing;
  listing.snapshot_path = std::move(snapshot.path);
  listing.container = snapshot.kind;
  listing.not_read = std::move(snapshot.not_read);
  for (SnapshotDevice& device : snapshot.devices) {
    ListedDevice& listed = listing.devices.emplace_back();
    listed.device = std::move(device);
    decode_device(listed, snapshot.kind, dialect);
    if (listed.failure && listing.reason.empty()) {
      const DecodeFailure& failure = *listed.failure;
      listing.reason = fmt::format("device {}: {} at byte {} ({})", listed.device.id,
                                   postcard::text_of(failure.error), failure.offset, failure.field);
    }
  }
  return listing;
}

}  // namespace vfsmend
