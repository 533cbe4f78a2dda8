// SPDX-License-Identifier: Apache-2.0
#include "snapshot/cloud_hypervisor.h"

#include <fmt/core.h>

namespace vfsmend {
namespace {

// Of the device's features: the guest's writes are logged, without which no migration starts.
constexpr std::uint64_t kVhostLogAll = std::uint64_t{1} << 26;

std::vector<std::string> notes_on(const VmDevice& device) {
  const DeviceText& text = device.text;
  const bool has_state = device.device.state.has_value();
  std::vector<std::string> out;
  if (!text.names_state && !has_state) {
    out.emplace_back("no backend_state: written before version 52, or not by a restorable device");
  }
  if (has_state != text.vring_bases.has_value()) {
    out.push_back(fmt::format("{} without {}: the restore fails (InconsistentBackendState)",
                              has_state ? "backend_state" : "vring_bases",
                              has_state ? "vring_bases" : "backend_state"));
  }
  if (text.vring_bases && text.queues && *text.vring_bases != *text.queues) {
    out.push_back(
        fmt::format("{} vring_bases for {} queues: the restore fails "
                    "(VringBasesCountMismatch)",
                    *text.vring_bases, *text.queues));
  }
  const std::uint64_t acked = text.acked_features.value_or(0);
  if (has_state && acked != 0 && (acked & kVhostLogAll) == 0) {
    out.emplace_back("acked_features lost bit 26 (VHOST_F_LOG_ALL): the next migration fails");
  }
  return out;
}

}  // namespace

Result<std::vector<SnapshotDevice>> cloud_hypervisor_devices(const VmSnapshot& vm,
                                                             JsonText& state) {
  VFSMEND_TRY_ASSIGN(std::vector<VmDevice> found, collect_devices(vm, state, "backend_state"));
  std::vector<SnapshotDevice> out;
  for (VmDevice& device : found) {
    device.device.notes = notes_on(device);
    if (!device.configured && vm.has_config) {
      device.device.notes.emplace_back("config.json does not name it");
    }
    out.push_back(std::move(device.device));
  }
  return out;
}

}  // namespace vfsmend
