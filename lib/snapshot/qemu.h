// SPDX-License-Identifier: Apache-2.0
// A QEMU migration file, as `migrate file:` or `exec:` writes it.
//
//   51 45 56 4d 00000003  [07 be32 n machine[n] subsections]  sections  00  [06 be32 n vmdesc[n]]
//
// Guest memory comes first, can be 64 GB and can hold the bytes of another migration file. So the
// search goes from the end, and what it finds counts only where everything around it fits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snapshot/byte_source.h"
#include "snapshot/container.h"

namespace vfsmend {

// "0000:00:01.0/vhost-user-fs" -> "0000:00:01.0"
[[nodiscard]] std::string device_id(std::string_view idstr);

// Whether a file that begins with `head` is one.
[[nodiscard]] bool is_qemu_stream(Bytes head);

// Its virtio-fs devices, in the order of the stream. `path` is for their spans. `notes` is for
// the snapshot as a whole.
[[nodiscard]] Result<std::vector<SnapshotDevice>> read_qemu(ByteSource& source,
                                                            const std::string& path,
                                                            std::vector<std::string>& notes);

}  // namespace vfsmend
