// SPDX-License-Identifier: Apache-2.0
// The description of its own devices that QEMU puts at the end of a migration file:
//
//   .. 00 (end of sections)  06  be32 length  {"devices": [device ..], ..}
//   device = {"name", "instance_id", "vmsd_name", "version",
//             "fields": [{"size"} ..], "subsections": [{"vmsd_name", "fields": [{"size"} ..]} ..]}
//
// It may be absent (suppress-vmdesc), and QEMU passes over it when it loads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "snapshot/byte_source.h"
#include "snapshot/json_text.h"

namespace vfsmend {

// A device with vmsd_name "vhost-user-fs".
struct DescribedDevice {
  std::string name;  // "0000:00:01.0/vhost-user-fs"
  std::uint64_t instance = 0;
  std::uint64_t version = 0;
  std::uint64_t fields_size = 0;  // bytes between the section's header and its first subsection
  std::optional<std::uint64_t> backend_size;  // of the back-end's chunk list
  // The digits of backend_size in the file. Nothing where it is not one number: the sum of several
  // fields, none of which any QEMU has written.
  std::optional<RawSpan> backend_digits;
};

struct Vmdesc {
  std::uint64_t begin = 0;               // of the byte 06; the length follows it
  std::vector<DescribedDevice> devices;  // in the order of the stream
  // Of the JSON text, which ends with the file.
  [[nodiscard]] std::uint64_t text_begin() const { return begin + 5; }
};

// Nothing where the file does not end in a description that can be read; `why_not` says what is
// wrong with one that is there.
[[nodiscard]] Result<std::optional<Vmdesc>> find_vmdesc(ByteSource& source, std::string& why_not);

}  // namespace vfsmend
