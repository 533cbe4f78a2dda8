// SPDX-License-Identifier: Apache-2.0
// Flags and options that a load accepts, or refuses, whatever lies on the host.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "verdict/open_rules.h"
#include "verdict/rules.h"

namespace vfsmend {
namespace {

struct BadFlags {
  std::int32_t bits = 0;
  std::string message;
  const char* sees = "";
  bool safe = true;
};

// What the destination makes of flags that the live descriptor on the source did not have, or that
// do harm when a file is opened a second time.
BadFlags bad_flags(const Handle& handle, const State& state, const Destination& destination) {
  BadFlags out;
  const auto add = [&](std::int32_t bits, const char* text, const char* sees) {
    if (!out.message.empty()) out.message += "; ";
    if (out.bits == 0) out.sees = sees;
    out.bits |= bits;
    out.message += text;
  };
  const bool opens = (handle.flags & kOpenPath) == 0;
  const std::int32_t makes = kOpenCreate | kOpenExclusive | kOpenTruncate | kOpenTmpfile;
  if (opens && (handle.flags & makes) != 0) {
    add(handle.flags & makes, "the load itself would create or truncate",
        (handle.flags & kOpenTruncate) != 0 ? "an empty file: the load truncates it"
                                            : "EIO or a stray file");
  }
  if (opens && (handle.flags & kOpenAppend) != 0) {
    add(kOpenAppend, "O_APPEND is recorded, though the live descriptor may not have it",
        "positional writes land at the end of the file, without an error");
    out.safe = false;  // only the file's size at the capture could tell
  }
  if (opens && (handle.flags & kOpenDirect) != 0 && !destination.allow_direct_io) {
    add(kOpenDirect, "O_DIRECT is recorded, though the source stripped it",
        "EINVAL from reads and writes that are not aligned");
  }
  if (opens && state.options.writeback && (handle.flags & kOpenAccessMode) == 1) {
    add(kOpenAccessMode, "O_WRONLY is recorded, but under writeback the guest also reads",
        "EBADF when a page is filled");
  }
  return out;
}

std::int32_t mended(const BadFlags& bad, std::int32_t flags) {
  std::int32_t out = flags & ~(bad.bits & ~kOpenAccessMode);
  if ((bad.bits & kOpenAccessMode) != 0) out = (out & ~kOpenAccessMode) | 2;
  return out;
}

}  // namespace

// Nobody appended to it since the capture.
bool Rules::has_captured_size(EntryIndex e) const {
  return (changes(e) & kCompared) != 0 && (changes(e) & (kOtherObject | kOtherSize)) == 0;
}

void Rules::judge_flags() {
  for (const Handle& handle : in_.state.handles) {
    BadFlags bad = bad_flags(handle, in_.state, in_.destination);
    if (bad.bits == 0) continue;
    if (const EntryIndex e = in_.index.first_entry(handle.inode); e != kNoIndex) {
      bad.safe = bad.safe || has_captured_size(e);
    }
    out_.add(Code::kS005, Verdict::kRepair, [&] {
      const EntryIndex entry = in_.index.first_entry(handle.inode);
      Finding f;
      f.code = Code::kS005;
      f.verdict = Verdict::kRepair;
      f.inode = handle.inode;
      f.handle = handle.id;
      f.open = true;
      if (entry != kNoIndex) f.path = input_.texts.name_path(entry);
      f.message = bad.message;
      f.guest_sees = bad.sees;
      f.before = {{"flags", flags_text(handle.flags)}};
      f.after = {{"flags", flags_text(mended(bad, handle.flags))}};
      Remedy remedy{"change the recorded flags", bad.safe, {}, Mend::kChangeFlags, {},
                    mended(bad, handle.flags)};
      if (!bad.safe) {
        remedy.casualties = {"if the host appended to the file since the pause, the guest writes "
                             "over those bytes"};
      }
      f.repair = std::move(remedy);
      return f;
    });
  }
}

void Rules::judge_options() {
  const NegotiatedOptions& want = in_.state.options;
  const Destination& have = in_.destination;
  const auto add = [&](std::string message, std::string sees, std::string action) {
    out_.add(Code::kO001, Verdict::kRepair, [&] {
      Finding f;
      f.code = Code::kO001;
      f.verdict = Verdict::kRepair;
      f.message = std::move(message);
      f.guest_sees = std::move(sees);
      f.repair = Remedy{std::move(action), false, {}};
      return f;
    });
  };
  const auto off = [&](const char* option, const char* flag) {
    add(fmt::format("the guest negotiated {}, and the destination has it off", option),
        "nothing: the restore fails", fmt::format("start the destination with {}", flag));
  };
  if (want.writeback && !have.writeback) off("writeback", "--writeback");
  if (want.announce_submounts && !have.announce_submounts) {
    off("announce-submounts", "--announce-submounts");
  }
  if (want.posix_acl && !have.posix_acl) {
    off("POSIX ACLs", "--posix-acl");
  } else if (want.posix_acl && input_.restore.outcome == Outcome::kSucceeds) {
    add("POSIX ACLs were negotiated: the restore succeeds, but the loader does not carry the FUSE "
        "options over",
        "the first setxattr hangs the whole mount",
        "pause again without --posix-acl, or remount in the guest before anything sets an xattr");
  }
  judge_descriptors();
}

// E002. With file handles only what has none keeps a descriptor; what the prediction ran out of counts
// whatever the sum says.
void Rules::judge_descriptors() {
  const Destination& have = in_.destination;
  const auto room = descriptor_room(have);
  const bool all_keep = in_.share.fd.valid()
                            ? in_.share.inode_file_handles == InodeFileHandles::kNever
                            : have.inode_file_handles == InodeFileHandles::kNever;
  std::uint64_t needed = in_.state.handles.size();
  for (EntryIndex e = 0; e < in_.state.inodes.size(); ++e) {
    const bool keeps = all_keep || (input_.walk && node(e).without_handle);
    needed += keeps && !location_as<Invalid>(inode(e)) ? 1 : 0;
  }
  const bool ran_out = input_.restore.error && input_.restore.error->ends_with(os_error_text(ENFILE));
  const std::uint64_t least = kReservedDescriptors + std::max<std::uint64_t>(have.thread_pool_size, 1);
  const bool starts = have.rlimit_nofile.value_or(least) >= least;  // else that is told
  if (!room || !starts || (needed <= *room && !ran_out)) return;
  out_.add(Code::kE002, Verdict::kRepair, [&] {
    Finding f;
    f.code = Code::kE002;
    f.verdict = Verdict::kRepair;
    f.message = fmt::format("the load needs up to {} descriptors and the daemon has {} to give",
                            needed, *room);
    f.before = {{"descriptors", std::to_string(needed)}};
    f.after = {{"descriptors", std::to_string(*room)}};
    f.guest_sees = "nothing, or EIO: the restore fails, or the last files are dead";
    f.repair = Remedy{"raise --rlimit-nofile, or start with --inode-file-handles=prefer", false, {}};
    return f;
  });
}

}  // namespace vfsmend
