// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "base/check.h"
#include "snapshot/big_endian.h"
#include "snapshot/open.h"
#include "snapshot/vm_stream.h"
#include "support/memory_calls.h"
#include "targets.h"

namespace vfsmend::fuzz {
namespace {

// The span of a device in a QEMU stream is a whole chunk list, which holds its state.
void check_chunks(Bytes file, const SnapshotDevice& device) {
  const StateSpan& span = device.span;
  VFSMEND_CHECK(span.begin <= span.end && span.end <= file.size());
  ByteVector state;
  std::uint64_t at = span.begin;
  for (;;) {
    VFSMEND_CHECK(span.end - at >= 4);
    const std::uint32_t length = be32(file.data() + at);
    at += 4;
    if (length == 0) break;
    VFSMEND_CHECK(length <= span.end - at);
    const Bytes chunk = file.subspan(at, length);
    state.insert(state.end(), chunk.begin(), chunk.end());
    at += length;
  }
  VFSMEND_CHECK(at == span.end);
  VFSMEND_CHECK(state == device.state);
}

// A stream inside of it is never longer than the file, and every byte of it can be read or is told.
void read_inner_stream(Bytes input) {
  MemorySource file(input);
  const auto stream = find_vm_stream(file, "");
  if (!stream) {
    VFSMEND_CHECK(!stream.error().text.empty());
    return;
  }
  VFSMEND_CHECK(stream->source->size() <= input.size());
  const auto bytes = read_part(*stream->source, 0, stream->source->size());
  VFSMEND_CHECK(bytes ? as_text(*bytes).starts_with("QEVM") : !bytes.error().text.empty());
}

}  // namespace

void fuzz_qemu(Bytes input) {
  read_inner_stream(input);
  test::MemoryCalls calls{as_text(input)};
  std::optional<ContainerKind> recognised;
  const auto opened = open_snapshot(calls, std::string(test::MemoryCalls::kPath), {}, recognised);
  if (!opened) {
    VFSMEND_CHECK(!opened.error().text.empty());
    return;
  }
  for (const SnapshotDevice& device : opened->devices) {
    if (!device.state) continue;
    if (opened->kind == ContainerKind::kQemu) check_chunks(input, device);
    VFSMEND_CHECK(opened->kind == ContainerKind::kQemu || device.state->size() == input.size());
  }
}

}  // namespace vfsmend::fuzz
