// SPDX-License-Identifier: Apache-2.0
#include "snapshot/vm_snapshot.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace vfsmend {
namespace {

const ConfiguredFs* find_configured(const std::vector<ConfiguredFs>& config, const std::string& id,
                                    const DeviceText& text) {
  for (const ConfiguredFs& fs : config) {
    if (fs.id == id) return &fs;
  }
  for (const ConfiguredFs& fs : config) {  // an id the VMM was free to choose
    if (fs.id.empty() && fs.tag && fs.tag == text.tag) return &fs;
  }
  return nullptr;
}

// Nothing for a device that is not virtio-fs.
Result<std::optional<VmDevice>> read_device(const VmSnapshot& vm, JsonText& state,
                                            const TreeDevice& node, std::string_view state_key) {
  VmDevice out;
  out.device.id = node.id;
  if (node.text) {
    auto parsed = parse_device_text(state, *node.text, state_key, out.text);
    out.configured = find_configured(vm.config, node.id, out.text);
    const bool ours = out.text.names_state || out.configured;
    if (!parsed && (ours || state.error())) {  // the latter: state.json itself cannot be read
      return tl::make_unexpected(std::move(parsed).error().context(
          fmt::format("{}: device {}", vm.state_path, printable(node.id))));
    }
    if (!ours) return std::nullopt;  // another device; whether its text is sound is not our matter
  } else {
    out.configured = find_configured(vm.config, node.id, out.text);
    if (!out.configured) return std::nullopt;
  }
  if (out.text.state) {
    const RawSpan span = out.text.state->span;
    out.device.state = std::move(out.text.state->values);
    out.device.span = {vm.state_path, span.begin, span.end};
  }
  out.device.tag = out.text.tag;
  if (!out.device.tag && out.configured) out.device.tag = out.configured->tag;
  return out;
}

}  // namespace

std::optional<ContainerKind> kind_of(const VmSnapshot& vm) {
  if (vm.tree.cube_marks) return ContainerKind::kCube;
  if (vm.tree.cloud_hypervisor_marks) return ContainerKind::kCloudHypervisor;
  const bool has_backend =
      std::any_of(vm.config.begin(), vm.config.end(),
                  [](const ConfiguredFs& fs) { return fs.backend.has_value(); });
  if (has_backend || vm.is_package) return ContainerKind::kCube;
  if (vm.tree.has_nodes || !vm.config.empty()) return ContainerKind::kCloudHypervisor;
  return std::nullopt;
}

Result<std::vector<VmDevice>> collect_devices(const VmSnapshot& vm, JsonText& state,
                                              std::string_view state_key) {
  std::vector<VmDevice> found;
  for (const TreeDevice& node : vm.tree.devices) {
    VFSMEND_TRY_ASSIGN(std::optional<VmDevice> device, read_device(vm, state, node, state_key));
    if (device) found.push_back(std::move(*device));
  }
  for (const ConfiguredFs& fs : vm.config) {
    const bool has_node = std::any_of(found.begin(), found.end(),
                                      [&](const VmDevice& d) { return d.configured == &fs; });
    if (has_node) continue;
    VmDevice missing;
    missing.device.id = fs.id.empty() ? fs.tag.value_or("") : fs.id;
    missing.device.tag = fs.tag;
    missing.configured = &fs;
    found.push_back(std::move(missing));
  }
  std::sort(found.begin(), found.end(), [](const VmDevice& a, const VmDevice& b) {
    if (!a.configured != !b.configured) return a.configured != nullptr;
    if (a.configured != b.configured) return a.configured < b.configured;  // one vector's elements
    return a.device.id < b.device.id;
  });
  return found;
}

}  // namespace vfsmend
