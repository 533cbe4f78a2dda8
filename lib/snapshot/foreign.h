// SPDX-License-Identifier: Apache-2.0
// Files that hold a virtio-fs state in a form this version does not read: they are recognised, and
// the refusal says how to get at what it does read.
#pragma once

#include <optional>

#include "base/result.h"
#include "snapshot/byte_source.h"
#include "snapshot/container.h"

namespace vfsmend {

struct Foreign {
  std::optional<ContainerKind> kind;
  Error error;  // kUnsupported, or kNotAState for what only looks like it
};

// `head` is the begin of the file: 4 KiB, or all of it. Nothing for a file of no such form.
[[nodiscard]] std::optional<Foreign> recognise_foreign(ByteSource& source, Bytes head);

}  // namespace vfsmend
