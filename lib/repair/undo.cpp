// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <linux/openat2.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "manifest/capture.h"
#include "repair/apply.h"
#include "repair/host_apply.h"
#include "repair/journal.h"
#include "snapshot/open.h"
#include "sys/atomic_file.h"
#include "sys/folder_lock.h"
#include "sys/object_handle.h"
#include "sys/read_file.h"
#include "verdict/preconditions.h"

namespace vfsmend {
namespace {

enum class Present { kBefore, kAfter, kOther };

std::string folder_of(const std::string& file) { return file.substr(0, file.rfind('/')); }

Result<Journal> journal_at(sys::Calls& calls, const std::string& path, const Progress& progress) {
  progress(fmt::format("the journal {}", path));
  Result<Journal> journal = read_journal(calls, path);
  if (journal) return journal;
  Error error = std::move(journal).error();
  error.code = ErrorCode::kUsage;
  return tl::make_unexpected(std::move(error));
}

// The states alone do not tell: a snapshot that was taken anew may hold the same ones, and is not to
// be lost. The original, and a copy of it, have its size and time; the repaired file was written
// before the original got its second name.
bool was_written_since(sys::Calls& calls, const Journal& journal, bool is_before) {
  const Result<sys::Located> kept = sys::locate(calls, AT_FDCWD, journal.kept);
  const Result<sys::Located> file = sys::locate(calls, AT_FDCWD, journal.file);
  if (!kept || !file) return false;
  if (!is_before) return file->stamp.mtime_ns > kept->stamp.ctime_ns;
  return file->stamp.size != kept->stamp.size || file->stamp.mtime_ns != kept->stamp.mtime_ns;
}

// What the file holds: the states of before the repair, those it left, or others.
Result<Present> look(sys::Calls& calls, const Journal& journal) {
  std::optional<ContainerKind> kind;
  VFSMEND_TRY_ASSIGN(const Snapshot snapshot, open_snapshot(calls, journal.snapshot, {}, kind));
  bool before = true;
  bool after = true;
  for (const JournalState& state : journal.states) {
    const auto device = std::ranges::find(snapshot.devices, state.device, &SnapshotDevice::id);
    const std::string digest = device == snapshot.devices.end() || !device->state
                                   ? std::string()
                                   : state_digest(*device->state);
    before = before && digest == state.before;
    after = after && digest == state.after;
  }
  if ((!before && !after) || was_written_since(calls, journal, before)) return Present::kOther;
  return before ? Present::kBefore : Present::kAfter;
}

Result<void> check_kept(sys::Calls& calls, const Journal& journal) {
  const Result<sys::Located> kept = sys::locate(calls, AT_FDCWD, journal.kept);
  // The original is kept before the file is replaced. A repair that was cut short before that may
  // have been followed by another one.
  if (!kept) {
    return fail(kept.error().code,
                fmt::format("{}: {}: this repair was cut short before its change, or somebody took the "
                            "original away. Undo repairs that came after it first",
                            printable(journal.kept), kept.error().text));
  }
  if (S_ISREG(kept->mode) && kept->stamp.size == journal.size_before) return {};
  return fail(ErrorCode::kSystem, fmt::format("{}: not the original of {} bytes that the repair kept",
                                              printable(journal.kept), journal.size_before));
}

// The shares of a journal, each open, in another mount namespace or this one.
class Shares {
 public:
  static Result<Shares> open(sys::Calls& calls, const Journal& journal, pid_t namespace_of) {
    open_how how{};
    how.flags = O_RDONLY | O_CLOEXEC;
    sys::UniqueFd own;
    const sys::KeepsWorkingDirectory here(calls);  // the journal's name may be relative to it
    if (namespace_of != 0 && !journal.host.empty()) {
      own = sys::UniqueFd(calls.openat2(AT_FDCWD, "/proc/self/ns/mnt", how));
      const std::string refused = enter_mount_namespace(calls, namespace_of);
      if (!refused.empty()) return fail(ErrorCode::kSystem, refused);
    }
    Shares out;
    Result<void> opened;
    how.flags = O_PATH | O_CLOEXEC;
    for (const JournalHost& host : journal.host) {
      out.fds_.emplace_back(calls.openat2(AT_FDCWD, host.share.c_str(), how));
      if (opened && !out.fds_.back().valid()) {
        opened = fail_errno(-out.fds_.back().get(), fmt::format("the share {}", printable(host.share)));
      }
    }
    if (own.valid() && calls.enter_mount_namespace(own.get()) < 0) {
      return fail(ErrorCode::kSystem, "no way back into the own mount namespace");
    }
    VFSMEND_TRY(std::move(opened));
    return out;
  }

  [[nodiscard]] HostTools tools(sys::Calls& calls, sys::Changes& changes, std::size_t i) const {
    return {calls, changes, fds_[i].get()};
  }

 private:
  std::vector<sys::UniqueFd> fds_;
};

class Undo {
 public:
  Undo(sys::Calls& calls, sys::Changes& changes, const UndoRequest& request, Journal journal)
      : calls_(calls), changes_(changes), request_(request), journal_(std::move(journal)),
        file_(printable(journal_.file)) {}

  Result<std::string> run() {
    const Result<Present> present = look(calls_, journal_);
    if (!present && !request_.force) return tl::make_unexpected(present.error());
    if (present && *present == Present::kOther && !request_.force) {
      return fail(ErrorCode::kSystem,
                  fmt::format("{} is not as the repair left it: something has changed it since. Undo repairs "
                              "that came after it first. -f puts the original back all the same", file_));
    }
    const bool is_before = present && *present == Present::kBefore;
    if (!is_before) VFSMEND_TRY(check_kept(calls_, journal_));
    VFSMEND_TRY_ASSIGN(const Shares shares, Shares::open(calls_, journal_, request_.mount_namespace_of));
    if (!request_.force && journal_.done) VFSMEND_TRY(check_host(shares));
    if (request_.dry_run) return told(is_before, "would be put back from " + printable(journal_.kept),
                                      "is as it was before the repair: nothing to undo", "would get back what it had");
    if (!journal_.host.empty()) VFSMEND_TRY(reopen(shares));
    VFSMEND_TRY(undo_host(shares));
    VFSMEND_TRY(undo_state(is_before));
    return told(is_before, "is the original again", "is as it was before the repair",
                "has back what it had");
  }

 private:
  // Of a repair that did not come to its end any object may be half-way.
  Result<void> check_host(const Shares& shares) const {
    for (std::size_t i = 0; i < journal_.host.size(); ++i) {
      for (const HostStep& step : journal_.host[i].work.steps) {
        const std::string found = unexpected(shares.tools(calls_, changes_, i), step);
        if (found.empty()) continue;
        return fail(ErrorCode::kSystem, fmt::format("{}, which is not as the repair left it: -f puts back "
                                                    "what it had before", found));
      }
    }
    return {};
  }

  // From now on any object may be half-way. A share that got or lost other names since keeps its time.
  Result<void> reopen(const Shares& shares) {
    if (!journal_.done) return {};
    for (std::size_t i = 0; i < journal_.host.size(); ++i) {
      VFSMEND_TRY_ASSIGN(journal_.host[i].work.share_mtime, share_time(shares.tools(calls_, changes_, i)));
    }
    return reopen_journal(calls_, changes_, request_.journal, journal_);
  }

  Result<void> undo_host(const Shares& shares) {
    for (std::size_t i = journal_.host.size(); i-- > 0;) {
      const JournalHost& host = journal_.host[i];
      const std::string stuck = take_back_all(shares.tools(calls_, changes_, i), host.work);
      if (stuck.empty()) continue;
      if (!request_.force) return fail(ErrorCode::kSystem, stuck);
      notes_ += fmt::format("\nleft as it is: {}", stuck);
    }
    return {};
  }

  // The repair never came to its change of the state, or all of it was undone.
  Result<void> undo_state(bool is_before) const {
    if (!is_before) {
      VFSMEND_TRY(sys::move_file(changes_, journal_.kept, journal_.file));
    } else if (!journal_.kept.empty() && sys::locate(calls_, AT_FDCWD, journal_.kept)) {
      VFSMEND_TRY(sys::remove_file(changes_, journal_.kept));
    }
    return sys::remove_file(changes_, request_.journal);
  }

  [[nodiscard]] std::string told(bool is_before, const std::string& changed, const char* same,
                                 const char* host) const {
    std::string out = fmt::format("{} {}", file_, is_before ? same : changed);
    for (const JournalHost& each : journal_.host) {
      const std::size_t objects = each.work.steps.size();
      if (objects > 0) {
        out += fmt::format("\n{}: {} {}", printable(each.share), objects == 1 ? "one object" : "each of " +
                           std::to_string(objects) + " objects", host);
      }
      for (const HiddenStep& step : each.work.hidden) {
        out += fmt::format("\n{}/{}: {}", printable(each.share), step.file.hidden_name,
                           request_.dry_run ? "would be removed" : "removed");
      }
    }
    return out + notes_ + "\n";
  }

  sys::Calls& calls_;
  sys::Changes& changes_;
  const UndoRequest& request_;
  Journal journal_;
  std::string file_;
  std::string notes_;
};

}  // namespace

Result<std::string> undo_repair(sys::Calls& calls, sys::Changes& changes,
                                const UndoRequest& request, const Progress& progress) {
  VFSMEND_TRY_ASSIGN(Journal journal, journal_at(calls, request.journal, progress));
  VFSMEND_TRY_ASSIGN(const sys::UniqueFd lock, sys::lock_folder(calls, folder_of(journal.file)));
  progress(fmt::format("the snapshot {}", journal.snapshot));
  return Undo(calls, changes, request, std::move(journal)).run();
}

Result<std::string> finish_repair(sys::Calls& calls, sys::Changes& changes,
                                  const FinishRequest& request, const Progress& progress) {
  VFSMEND_TRY_ASSIGN(const Journal journal, journal_at(calls, request.journal, progress));
  VFSMEND_TRY_ASSIGN(const sys::UniqueFd lock, sys::lock_folder(calls, folder_of(journal.file)));
  VFSMEND_TRY_ASSIGN(const Shares shares, Shares::open(calls, journal, request.mount_namespace_of));
  std::string out;
  for (std::size_t i = 0; i < journal.host.size(); ++i) {
    const HostTools tools = shares.tools(calls, changes, i);
    VFSMEND_TRY_ASSIGN(const std::int64_t mtime, share_time(tools));
    for (const HiddenStep& step : journal.host[i].work.hidden) {
      // The guest may have written to it since: its content says nothing.
      VFSMEND_TRY(remove_hidden(tools, step, false));
      out += fmt::format("{}/{}: removed; what the guest has open stays open\n",
                         printable(journal.host[i].share), step.file.hidden_name);
    }
    if (!journal.host[i].work.hidden.empty()) VFSMEND_TRY(set_share_time(tools, mtime));
  }
  return out.empty() ? "the repair made no hidden files: nothing to finish\n" : out;
}

}  // namespace vfsmend
