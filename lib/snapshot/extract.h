// SPDX-License-Identifier: Apache-2.0
// A QEMU stream out of the file that it lies in (vm_stream.h), as a file of its own.
#pragma once

#include <string>

#include "base/result.h"
#include "sys/calls.h"
#include "sys/changes.h"

namespace vfsmend {

struct Extracted {
  std::uint64_t size = 0;  // bytes of the stream
  std::string use;         // how it is resumed, for a person
};

// Writes the stream in `from` to `to`, a new file of mode 0600 that appears whole or not at all. Errors
// as find_vm_stream; kUsage where `to` is there already; kSystem with EBUSY where `from` changed
// meanwhile.
[[nodiscard]] Result<Extracted> extract_stream(sys::Calls& calls, sys::Changes& changes,
                                               const std::string& from, const std::string& wanted,
                                               const std::string& to);

}  // namespace vfsmend
