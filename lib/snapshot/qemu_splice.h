// SPDX-License-Identifier: Apache-2.0
// What changes in a QEMU migration file with a state of another size:
//
//   {be32 n  n bytes} ..  be32 0       the chunk list, chunked anew
//   "size": N                          in vmdesc, the bytes of that list: its digits alone
//   06  be32 length                    in front of vmdesc, whose digits may be more or fewer
//
// QEMU takes chunks of any size and passes over vmdesc. The sizes are kept right all the same: for
// scripts/analyze-migration.py of QEMU, and for a reader like ours, which holds one against the
// other. Nothing in the file points at a place behind a device's section, so all of that may move.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "snapshot/byte_source.h"
#include "snapshot/container.h"
#include "sys/splice_file.h"

namespace vfsmend {

// What the state of one device becomes.
struct NewState {
  const SnapshotDevice* device = nullptr;
  const ByteVector* state = nullptr;
};

// The chunk list of a state, as QEMU 10 writes it: it asks the daemon's pipe for 1 MiB at a time,
// and a pipe gives the 64 KiB that it holds (288 KB came as 4 x 65536 and a rest).
[[nodiscard]] ByteVector chunk_list(Bytes state);

// The edits, in no order. kUnsupported where vmdesc gives the size of the list in several numbers.
[[nodiscard]] Result<std::vector<sys::Edit>> qemu_edits(ByteSource& source,
                                                        const std::vector<NewState>& states);

}  // namespace vfsmend
