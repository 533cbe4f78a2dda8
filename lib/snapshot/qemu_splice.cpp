// SPDX-License-Identifier: Apache-2.0
#include "snapshot/qemu_splice.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "snapshot/big_endian.h"
#include "snapshot/qemu.h"
#include "snapshot/vmdesc.h"

namespace vfsmend {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10;

ByteVector decimal(std::uint64_t n) {
  const std::string text = fmt::format("{}", n);
  return {text.begin(), text.end()};
}

// Of the description's number, where there is one for the device. A section that vmdesc describes
// wrongly gets the right number too.
Result<std::optional<sys::Edit>> size_edit(const Vmdesc& vmdesc, const SnapshotDevice& device,
                                           std::uint64_t size) {
  for (const DescribedDevice& described : vmdesc.devices) {
    if (device_id(described.name) != device.id || !described.backend_size) continue;
    if (!described.backend_digits) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("device {}: vmdesc gives the size of its state in several numbers",
                              printable(device.id)));
    }
    return sys::Edit{described.backend_digits->begin, described.backend_digits->end, decimal(size)};
  }
  return std::optional<sys::Edit>();
}

}  // namespace

ByteVector chunk_list(Bytes state) {
  ByteVector out;
  out.reserve(state.size() + 4 * (state.size() / kChunk + 2));
  while (!state.empty()) {
    const Bytes chunk = state.first(std::min(state.size(), kChunk));
    put_be32(out, static_cast<std::uint32_t>(chunk.size()));
    out.insert(out.end(), chunk.begin(), chunk.end());
    state = state.subspan(chunk.size());
  }
  put_be32(out, 0);
  return out;
}

Result<std::vector<sys::Edit>> qemu_edits(ByteSource& source, const std::vector<NewState>& states) {
  std::vector<sys::Edit> out;
  std::string why_not;
  VFSMEND_TRY_ASSIGN(const std::optional<Vmdesc> vmdesc, find_vmdesc(source, why_not));
  std::uint64_t length = vmdesc ? source.size() - vmdesc->text_begin() : 0;
  for (const auto& [device, state] : states) {
    sys::Edit chunks{device->span.begin, device->span.end, chunk_list(*state)};
    const std::uint64_t size = chunks.bytes.size();
    out.push_back(std::move(chunks));
    if (!vmdesc) continue;
    VFSMEND_TRY_ASSIGN(std::optional<sys::Edit> digits, size_edit(*vmdesc, *device, size));
    if (!digits) continue;
    length = length + digits->bytes.size() - (digits->end - digits->begin);
    out.push_back(std::move(*digits));
  }
  if (vmdesc) {
    sys::Edit edit{vmdesc->begin + 1, vmdesc->text_begin(), {}};
    // find_vmdesc reads 16 MiB at most, and a device has a few digits: it fits.
    put_be32(edit.bytes, static_cast<std::uint32_t>(length));
    out.push_back(std::move(edit));
  }
  return out;
}

}  // namespace vfsmend
