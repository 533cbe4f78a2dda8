// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "state/codec.h"
#include "state/guess.h"
#include "state/node_index.h"
#include "targets.h"

namespace vfsmend::fuzz {
namespace {

void walk_nodes(const State& state) {
  if (state.inodes.size() > kMaxInodes) return;
  const NodeIndex index(state);
  std::size_t entries = 0;
  for (Slot slot = 0; slot < index.slot_count(); ++slot) {
    VFSMEND_CHECK(index.slot_of(index.id_of(slot)) == slot);
    entries += index.entries(slot).size();
  }
  VFSMEND_CHECK(entries == state.inodes.size());
}

}  // namespace

void fuzz_state(Bytes input) {
  for (const Reader reader : {Reader::kVirtiofsd, Reader::kVirtiofsd11, Reader::kCube}) {
    const auto decoded = decode(input, reader);
    if (!decoded) {
      VFSMEND_CHECK(decoded.error().offset <= input.size());
      VFSMEND_CHECK(!decoded.error().field.empty());
      continue;
    }
    VFSMEND_CHECK(decoded->consumed <= input.size());
    walk_nodes(decoded->state);
    // What was read is written in its shortest form, and read again as the same.
    const ByteVector written = encode(decoded->state, decoded->dialect);
    VFSMEND_CHECK(written.size() <= decoded->consumed);
    const auto again = decode(written, reader);
    VFSMEND_CHECK(again && again->consumed == written.size());
    VFSMEND_CHECK(encode(again->state, again->dialect) == written);
  }
  if (const auto guessed = decode_guessing(input)) (void)looks_healthy(guessed->state);
}

}  // namespace vfsmend::fuzz
