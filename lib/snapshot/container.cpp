// SPDX-License-Identifier: Apache-2.0
#include "snapshot/container.h"

namespace vfsmend {

std::string_view name_of(ContainerKind kind) {
  switch (kind) {
    case ContainerKind::kCube: return "cube";
    case ContainerKind::kCloudHypervisor: return "cloud-hypervisor";
    case ContainerKind::kQemu: return "qemu";
    case ContainerKind::kLibvirt: return "libvirt";
    case ContainerKind::kRaw: return "raw";
  }
  return "?";
}

}  // namespace vfsmend
