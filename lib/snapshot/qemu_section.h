// SPDX-License-Identifier: Apache-2.0
// One virtio-fs device in a QEMU migration file (big-endian, unpadded):
//
//   section = 04 be32 id  u8 n  idstr[n]  be32 instance  be32 version
//             fields                                (PCI and virtio state; vmdesc knows the size)
//             05 15 "vhost-user-fs-backend" be32 0
//             {be32 n  n bytes} ..  be32 0          (the state, in chunks of any size)
//             [7e be32 id]                          (absent with send-section-footer=off)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "snapshot/byte_source.h"
#include "snapshot/vmdesc.h"

namespace vfsmend {

// What the subsection begins with, up to its chunks.
[[nodiscard]] const std::string& backend_mark();

struct QemuSection {
  std::string idstr;
  std::uint64_t begin = 0;         // of the byte 04
  std::uint64_t fields_begin = 0;  // behind the header
  std::uint64_t mark = 0;          // of the subsection
  std::uint64_t chunks_begin = 0;
  std::uint64_t chunks_end = 0;  // behind the be32 0
  std::uint64_t chunks = 0;      // without the ending one
  bool has_footer = false;
  ByteVector state;
};

// The section whose back-end mark is at `mark`, if all that surrounds it fits: its header (that of
// `described` where there is a vmdesc, else the nearest before the mark), chunk list, footer, and
// the size in vmdesc. kFormat with the place where it does not fit; kSystem.
[[nodiscard]] Result<QemuSection> read_section(ByteSource& source, std::uint64_t mark,
                                               const DescribedDevice* described);

// The tag in the copy of the device's configuration space that the fields hold. Nothing where the
// guest's driver never read it, or where no unmistakable one is found.
[[nodiscard]] Result<std::optional<std::string>> find_tag(ByteSource& source,
                                                          const QemuSection& section);

}  // namespace vfsmend
