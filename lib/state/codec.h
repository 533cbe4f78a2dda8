// SPDX-License-Identifier: Apache-2.0
// Bytes <-> State, byte for byte. No I/O, no exceptions, memory bounded by the input's size.
//
//   state       = index u32: 0 -> v1 | 1 -> v1 mount_paths               ("V1", "V2")
//   v1          = vec<inode> next_inode:u64 vec<handle> next_handle:u64 options
//   options     = writeback announce_submounts posix_acl sup_group_extension   (4 x bool)
//   inode       = id:u64 refcount:u64 location option<file_handle>
//   location    = 0 | 1 parent:u64 filename:string [fullname:string] | 2 | 3 filename:string
//               | 4 file_handle          (fullname: cube-v1 only; 4: readers of V2 only)
//   file_handle = mount_id:u64 type:i32 bytes
//   handle      = id:u64 inode:u64 source;     source = 0 flags:i32
//   mount_paths = map<u64, string>
//
// History: V1 by virtiofsd 1.11; V2 and location 4 by 1.12; cube-v1 is V1 with `fullname`.
// Bytes behind the end are ignored by every reader; we report them and never write them.
#pragma once

#include <cstddef>
#include <string>
#include <tl/expected.hpp>

#include "state/dialect.h"
#include "state/fs_state.h"
#include "state/postcard.h"

namespace vfsmend {

struct DecodeFailure {
  postcard::DecodeError error = postcard::DecodeError::kNone;
  std::size_t offset = 0;  // byte of the state at which the reader gives up
  std::string field;       // "inodes[3].location.filename"
};

struct Decoded {
  State state;
  Dialect dialect = Dialect::kV2;
  std::size_t consumed = 0;  // bytes of the state; what follows them is ignored by readers
};

// What `reader` makes of `bytes`. The State borrows from `bytes`.
[[nodiscard]] tl::expected<Decoded, DecodeFailure> decode(Bytes bytes, Reader reader);

// The bytes that the writer of `dialect` makes of `state`. Parts that the dialect cannot hold
// (a fullname in v1, mount paths outside v2) must be absent.
[[nodiscard]] ByteVector encode(const State& state, Dialect dialect);

}  // namespace vfsmend
