// SPDX-License-Identifier: Apache-2.0
#include "snapshot/byte_source.h"

#include <fmt/core.h>

#include <algorithm>

namespace vfsmend {

Result<void> MemorySource::read(std::uint64_t offset, std::span<std::uint8_t> out) {
  if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
    return fail(ErrorCode::kFormat, fmt::format("byte {}: the file ends here; expected {} bytes "
                                                "from byte {}", bytes_.size(), out.size(), offset));
  }
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
  return {};
}

Result<ByteVector> read_part(ByteSource& source, std::uint64_t offset, std::uint64_t count) {
  if (offset > source.size() || count > source.size() - offset) {  // before memory is taken
    return fail(ErrorCode::kFormat, fmt::format("byte {}: the file ends here; expected {} bytes "
                                                "from byte {}", source.size(), count, offset));
  }
  ByteVector out(count);
  VFSMEND_TRY(source.read(offset, out));
  return out;
}

}  // namespace vfsmend
