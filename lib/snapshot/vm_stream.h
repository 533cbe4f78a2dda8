// SPDX-License-Identifier: Apache-2.0
// A QEMU migration stream that lies inside another file: behind the header of a libvirt save file, or
// scattered over the clusters of a qcow2 image, where `savevm` and internal snapshots put it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "snapshot/byte_source.h"
#include "snapshot/container.h"

namespace vfsmend {

struct VmStream {
  ContainerKind kind{};                // kLibvirt, or kQemu for a qcow2 image
  std::unique_ptr<ByteSource> source;  // the stream's bytes; borrows the file's source
  std::uint64_t begin = 0;             // libvirt: of the stream in the file
  std::string name;                    // qcow2: of the snapshot
};

// Of a libvirt save file (libvirt.cpp). kFormat with the byte where it is damaged; kUnsupported, with
// what to do, where it is compressed, sparse or unfinished.
[[nodiscard]] Result<VmStream> libvirt_stream(ByteSource& file);

// Of a qcow2 image (qcow2.cpp): that of the snapshot with this name or id, or of the only one that has
// a VM state where `wanted` is empty. kUsage where there is none such, or a choice; kFormat with the
// byte; kUnsupported for what does not lie in this file as it is (encrypted, external data).
[[nodiscard]] Result<VmStream> qcow2_stream(ByteSource& file, const std::string& wanted);

// Whichever the file is. kUsage for any other file.
[[nodiscard]] Result<VmStream> find_vm_stream(ByteSource& file, const std::string& wanted);

}  // namespace vfsmend
