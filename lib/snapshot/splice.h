// SPDX-License-Identifier: Apache-2.0
// Other states in the place of those that a snapshot holds: which bytes of its file change, and the
// writing of them. All other bytes stay what they are, whatever they mean.
//
//   raw                        the whole file, also what lies behind the state
//   CubeSandbox, Cloud         what stands between the brackets of back_state or backend_state,
//   Hypervisor                 inside the escaped text in state.json
//   QEMU                       the chunk list, and with a vmdesc its size there and vmdesc's own
//                              length (qemu_splice.h)
//
// libvirt's and qcow2 files are not read as they are (extract.h), so there is no Snapshot of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "snapshot/container.h"
#include "sys/calls.h"
#include "sys/read_file.h"
#include "sys/splice_file.h"

namespace vfsmend {

struct Replacement {
  std::string device;  // SnapshotDevice::id
  ByteVector state;    // may be empty: then the snapshot has an empty one
};

struct SplicedFile {
  std::string path;              // of the file that holds the states: state.json, a stream
  sys::RegularFile original;     // open, and as it was when the snapshot was read
  std::vector<sys::Edit> edits;  // ascending; none where every state is what it was already
  std::uint64_t size = 0;        // bytes of the file as it will be
};

// Nothing is written. Of the file no more is read than what tells where its vmdesc stands. A state
// that is the one there already is no edit: its digits or chunks stay as their writer made them.
//   kUsage        the snapshot has no such device, or one is named twice, or there are none
//   kUnsupported  the device has no state to be replaced (back_state absent or null, a section
//                 without a back-end), two devices have that id, or vmdesc describes it as no
//                 QEMU does
//   kFormat       the states of two devices overlap: one was taken for a section and is another's
//                 bytes
//   kLimit        larger than open_snapshot would read back
//   kSystem       the file cannot be read; EBUSY: it is not as it was when the snapshot was read
[[nodiscard]] Result<SplicedFile> splice(sys::Calls& calls, const Snapshot& snapshot,
                                         std::span<const Replacement> replacements);

// Puts the new file in the place of the original, which is kept beside it as `kept_name`; what
// holds at every moment of it, and the errors, say sys::splice_file. The snapshot's spans and
// stamps are void afterwards: it is to be opened anew.
[[nodiscard]] Result<sys::ReplacedFile> write_spliced(sys::Calls& calls, sys::Changes& changes,
                                                      const SplicedFile& spliced,
                                                      const std::string& kept_name);

}  // namespace vfsmend
