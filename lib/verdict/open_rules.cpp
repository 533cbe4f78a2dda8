// SPDX-License-Identifier: Apache-2.0
#include "verdict/open_rules.h"

#include <sys/stat.h>

#include <cerrno>

namespace vfsmend {
namespace {

// rwx bits 4 2 1. CAP_DAC_READ_SEARCH covers reading and searching, not reading and writing at once.
bool permitted(const OpenTarget& target, unsigned wanted, const Destination& who) {
  if (who.capabilities.dac_override) return true;
  if (who.capabilities.dac_read_search && (wanted & 2) == 0) return true;
  const unsigned bits = target.uid == who.uid   ? target.mode >> 6
                        : target.gid == who.gid ? target.mode >> 3
                                                : target.mode;
  return (bits & wanted) == wanted;
}

int predict_tmpfile(const OpenTarget& target, std::int32_t flags, bool writes,
                    const Destination& who) {
  if ((flags & kOpenDirectory) == 0 || !writes) return EINVAL;
  if (!S_ISDIR(target.mode)) return ENOTDIR;
  if (target.mount_read_only || target.super_read_only) return EROFS;
  if (target.immutable) return EPERM;
  return permitted(target, 3, who) ? 0 : EACCES;
}

// What may_open() asks of an object that is there.
int predict_permission(const OpenTarget& target, std::int32_t flags, bool writes,
                       const Destination& who) {
  const bool truncates = (flags & kOpenTruncate) != 0;
  const bool reads = (flags & kOpenAccessMode) != 1;
  if (writes || truncates) {
    if (target.super_read_only) return EROFS;
    if (target.immutable) return EPERM;
  }
  const unsigned wanted = (reads ? 4U : 0U) | (writes || truncates ? 2U : 0U);
  if (!permitted(target, wanted, who)) return EACCES;
  if (target.append_only && S_ISREG(target.mode)) {
    if (writes && (flags & kOpenAppend) == 0) return EPERM;
    if (truncates) return EPERM;
  }
  if ((flags & kOpenNoAtime) != 0 && target.uid != who.uid && !who.capabilities.fowner) {
    return EPERM;
  }
  return 0;
}

}  // namespace

bool may_search(const OpenTarget& directory, const Destination& who) {
  if (who.capabilities.dac_override || !S_ISDIR(directory.mode)) return true;
  return permitted(directory, 1, who);
}

bool may_read(const OpenTarget& target, const Destination& who) {
  return permitted(target, 4, who);
}

int predict_open(const OpenTarget& target, std::int32_t flags, const Destination& who) {
  const bool is_dir = S_ISDIR(target.mode);
  const bool wants_dir = (flags & kOpenDirectory) != 0;
  const bool creates = (flags & kOpenCreate) != 0;
  const bool truncates = (flags & kOpenTruncate) != 0;
  const std::int32_t access = flags & kOpenAccessMode;
  const bool writes = access != 0;  // 3 asks for both permissions and then for neither
  // The loader's own rule: nothing but files and directories is ever opened again.
  if (!is_dir && !S_ISREG(target.mode)) return EBADF;
  if ((flags & kOpenPath) != 0) return wants_dir && !is_dir ? ENOTDIR : 0;
  if (creates && wants_dir) return EINVAL;  // Linux 6.4
  if ((flags & kOpenTmpfile) != 0) return predict_tmpfile(target, flags, writes, who);
  if (creates && (flags & kOpenExclusive) != 0) return EEXIST;
  if (creates && is_dir) return EISDIR;
  if (wants_dir && !is_dir) return ENOTDIR;
  if (is_dir && (writes || truncates)) return EISDIR;
  if (truncates && (target.mount_read_only || target.super_read_only)) return EROFS;
  if (const int err = predict_permission(target, flags, writes, who); err != 0) return err;
  if ((access == 1 || access == 2) && target.mount_read_only) return EROFS;
  if ((flags & kOpenDirect) != 0 && is_dir) return EINVAL;
  return 0;
}

}  // namespace vfsmend
