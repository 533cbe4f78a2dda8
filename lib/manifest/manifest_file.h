// SPDX-License-Identifier: Apache-2.0
// Manifest <-> bytes. docs/man/vfsmend-manifest.5.scd has the whole grammar; blocks.h that of the
// container, section_head.h and columns.h that of what is in its blocks.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "manifest/manifest.h"
#include "sys/second_thread.h"

namespace vfsmend {

// The tables must be consistent, as below. kLimit: the columns have more than 4 GiB in all (some 40
// million entries), which decode_manifest would refuse.
//
// Large tables are packed by two threads: `second`, or one of its own.
[[nodiscard]] Result<ByteVector> encode_manifest(const Manifest& manifest,
                                                 sys::SecondThread* second = nullptr);

// kFormat, with the place in the file: not a manifest, a version that is not known, cut, or damaged
// (every byte is covered by a checksum; nothing of a damaged one is used). kLimit: it asks for more
// memory than its size can justify, or than 4 GiB. Tables are consistent when it succeeds: columns
// of one length (hash: or empty), parents before their children, positions inside their lists,
// names of attributes ascending, the first set of them empty, handles of 128 bytes at most.
//
// Takes the memory of the tables, which those 4 GiB bound, and that of the largest block twice:
// from 32,768 entries on two threads expand blocks, where a second one is to be had.
[[nodiscard]] Result<Manifest> decode_manifest(Bytes bytes);

}  // namespace vfsmend
