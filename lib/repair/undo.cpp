// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "manifest/capture.h"
#include "repair/apply.h"
#include "repair/journal.h"
#include "snapshot/open.h"
#include "sys/atomic_file.h"
#include "sys/folder_lock.h"
#include "sys/read_file.h"

namespace vfsmend {
namespace {

enum class Present { kBefore, kAfter, kOther };

std::string folder_of(const std::string& file) { return file.substr(0, file.rfind('/')); }

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
  return before ? Present::kBefore : after ? Present::kAfter : Present::kOther;
}

Result<void> check_kept(sys::Calls& calls, const Journal& journal) {
  const Result<sys::Located> kept = sys::locate(calls, AT_FDCWD, journal.kept);
  if (!kept) return tl::make_unexpected(Error(kept.error()).context(printable(journal.kept)));
  if (S_ISREG(kept->mode) && kept->stamp.size == journal.size_before) return {};
  return fail(ErrorCode::kSystem, fmt::format("{}: not the original of {} bytes that the repair kept",
                                              printable(journal.kept), journal.size_before));
}

}  // namespace

Result<std::string> undo_repair(sys::Calls& calls, sys::Changes& changes,
                                const UndoRequest& request, const Progress& progress) {
  progress(fmt::format("the journal {}", request.journal));
  Result<Journal> journal = read_journal(calls, request.journal);
  if (!journal) {
    Error error = std::move(journal).error();
    error.code = ErrorCode::kUsage;
    return tl::make_unexpected(std::move(error));
  }
  VFSMEND_TRY_ASSIGN(const sys::UniqueFd lock, sys::lock_folder(calls, folder_of(journal->file)));
  progress(fmt::format("the snapshot {}", journal->snapshot));
  const Result<Present> present = look(calls, *journal);
  if (!present && !request.force) return tl::make_unexpected(present.error());
  const std::string file = printable(journal->file);
  const bool has_kept = sys::locate(calls, AT_FDCWD, journal->kept).has_value();
  if (present && *present == Present::kBefore) {
    // The repair never came to its change, or was undone.
    if (request.dry_run) return fmt::format("{} is as it was before the repair: nothing to undo", file);
    if (has_kept) VFSMEND_TRY(sys::remove_file(changes, journal->kept));
    VFSMEND_TRY(sys::remove_file(changes, request.journal));
    return fmt::format("{} is as it was before the repair", file);
  }
  if (present && *present == Present::kOther && !request.force) {
    return fail(ErrorCode::kSystem,
                fmt::format("{} is not as the repair left it: something has changed it since. -f puts "
                            "the original back all the same", file));
  }
  VFSMEND_TRY(check_kept(calls, *journal));
  if (request.dry_run) return fmt::format("{} would be put back from {}", file, printable(journal->kept));
  VFSMEND_TRY(sys::move_file(changes, journal->kept, journal->file));
  VFSMEND_TRY(sys::remove_file(changes, request.journal));
  return fmt::format("{} is the original again", file);
}

}  // namespace vfsmend
