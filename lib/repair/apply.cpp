// SPDX-License-Identifier: Apache-2.0
#include "repair/apply.h"

#include <fmt/format.h>
#include <linux/openat2.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "manifest/capture.h"
#include "repair/host_apply.h"
#include "repair/journal.h"
#include "snapshot/open.h"
#include "snapshot/splice.h"
#include "sys/atomic_file.h"
#include "sys/fd_path.h"
#include "sys/folder_lock.h"
#include "sys/object_handle.h"
#include "sys/read_file.h"

namespace vfsmend {
namespace {

std::pair<std::string, std::string> parted(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// A check may enter another mount namespace, where the snapshot's path means nothing.
class OwnNamespace {
 public:
  OwnNamespace(sys::Calls& calls, bool will_leave) : calls_(calls) {
    open_how how{};
    how.flags = O_RDONLY | O_CLOEXEC;
    if (will_leave) own_ = sys::UniqueFd(calls.openat2(AT_FDCWD, "/proc/self/ns/mnt", how));
  }
  [[nodiscard]] int come_back() const { return own_.valid() ? calls_.enter_mount_namespace(own_.get()) : 0; }

 private:
  sys::Calls& calls_;
  sys::UniqueFd own_;
};

class Repair {
 public:
  Repair(sys::Calls& calls, sys::Changes& changes, const RepairRequest& request,
         const Progress& progress)
      : calls_(calls), changes_(changes), request_(request), progress_(progress) {}

  Result<RepairResult> run() {
    const Result<sys::UniqueFd> lock = lock_snapshot();
    if (!lock) return unable(lock.error().text);
    VFSMEND_TRY_ASSIGN(out_.plan, in_own_namespace<RepairPlan>([&] {
      return plan_repair(calls_, request_.check, request_.consent, progress_, request_.map);
    }));
    if (!out_.plan.has_steps()) {
      out_.after = out_.plan.before;
      return std::move(out_);
    }
    if (const Result<void> changed = change(); !changed) return unable(changed.error().text);
    out_.changed = true;
    VFSMEND_TRY_ASSIGN(out_.after, in_own_namespace<Report>(
                                       [&] { return check(calls_, request_.check, progress_); }));
    return std::move(out_);
  }

 private:
  template <typename T, typename F>
  Result<T> in_own_namespace(F work) {
    const bool will_leave = request_.check.mount_namespace_of != 0;
    const OwnNamespace own(calls_, will_leave);
    std::optional<sys::KeepsWorkingDirectory> here;
    if (will_leave) here.emplace(calls_);
    Result<T> result = work();
    if (const int err = own.come_back(); err < 0) return fail_errno(-err, "the mount namespace");
    return result;
  }

  RepairResult unable(std::string reason) {
    out_.reason = std::move(reason);
    out_.after = out_.plan.before;
    return std::move(out_);
  }

  Result<sys::UniqueFd> lock_snapshot() {
    const std::string& path = request_.check.snapshot_path;
    const auto found = sys::locate(calls_, AT_FDCWD, path);
    if (found && S_ISDIR(found->mode)) return sys::lock_folder(calls_, path);
    const std::size_t slash = path.rfind('/');
    return sys::lock_folder(calls_, slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash));
  }

  Result<void> change() {
    std::optional<ContainerKind> kind;
    VFSMEND_TRY_ASSIGN(const Snapshot snapshot,
                       open_snapshot(calls_, request_.check.snapshot_path,
                                     {request_.check.overlay_file}, kind));
    VFSMEND_TRY_ASSIGN(const auto replacements, replacements_in(snapshot));
    VFSMEND_TRY_ASSIGN(const SplicedFile spliced, splice(calls_, snapshot, replacements));
    VFSMEND_TRY(nobody_has_open(spliced.path, spliced.path));
    for (const DevicePlan& plan : out_.plan.devices) {
      if (!plan.host.share.valid() || plan.steps.empty()) continue;
      VFSMEND_TRY(nobody_has_open(fmt::format("/proc/self/fd/{}", plan.host.share.get()),
                                  "the share " + plan.host.share_path));
    }
    VFSMEND_TRY_ASSIGN(const std::string file, real_path(spliced.path));
    VFSMEND_TRY(name_files(file));
    if (spliced.edits.empty()) out_.kept.clear();  // of the state nothing changes
    VFSMEND_TRY_ASSIGN(Journal journal, journal_of(file, spliced.original.stamp.size));
    if (const auto noted = write_journal(journal); !noted) return give_up(noted.error());
    if (const auto changed = change_all(spliced); !changed) return give_up(changed.error());
    if (journal.done) return {};
    journal.done = true;
    if (const auto noted = write_journal(journal); !noted) return still_to_undo(noted.error());
    return {};
  }

  Result<void> change_all(const SplicedFile& spliced) {
    for (std::size_t i = 0; i < out_.plan.devices.size(); ++i) {
      const HostPlan& host = out_.plan.devices[i].host;
      if (host.work.empty()) continue;
      // Which takes its own back.
      const auto done = apply_host({calls_, changes_, host.share.get(), host.kept.get()}, host.work);
      if (!done) return take_back_first(i, done.error());
    }
    if (spliced.edits.empty()) return {};
    const auto [folder, kept_name] = parted(out_.kept);
    const auto written = write_spliced(calls_, changes_, spliced, kept_name);
    if (written) return {};
    // With the original kept the file may be the repaired one: undo takes all of it back.
    if (is_there(out_.kept)) return tl::make_unexpected(written.error());
    return take_back_first(out_.plan.devices.size(), written.error());
  }

  // What was done on the host for so many devices.
  tl::unexpected<Error> take_back_first(std::size_t devices, Error error) const {
    for (std::size_t i = devices; i-- > 0;) {
      const HostPlan& host = out_.plan.devices[i].host;
      const std::string stuck = take_back_all({calls_, changes_, host.share.get()}, host.work);
      if (!stuck.empty()) error.text += fmt::format("; {}: {}", kNotTakenBack, stuck);
    }
    return tl::make_unexpected(std::move(error));
  }

  [[nodiscard]] bool is_there(const std::string& path) const {
    return !path.empty() && sys::locate(calls_, AT_FDCWD, path).has_value();
  }

  tl::unexpected<Error> still_to_undo(Error error) const {
    error.text += fmt::format("; `vfsmend undo {}` takes the repair back", printable(out_.journal));
    return tl::make_unexpected(std::move(error));
  }

  // An error after the change of the state (its last sync), or one that kept the original's second name
  // from going again, leaves the original beside the file: then the journal stays, and leads back. So it
  // does where something on the host could not be taken back. Else there is nothing to undo.
  tl::unexpected<Error> give_up(Error error) {
    const bool stuck = error.text.find(kNotTakenBack) != std::string::npos;
    if (is_there(out_.kept) || stuck) return still_to_undo(std::move(error));
    out_.kept.clear();
    static_cast<void>(sys::remove_file(changes_, out_.journal));
    if (is_there(out_.journal)) {
      error.text += fmt::format("; {} is left, and has nothing to undo", printable(out_.journal));
    } else {
      out_.journal.clear();
    }
    return tl::make_unexpected(std::move(error));
  }

  // The precondition of a plan: what the snapshot holds is still what the steps are for.
  Result<std::vector<Replacement>> replacements_in(const Snapshot& snapshot) const {
    std::vector<Replacement> out;
    for (const DevicePlan& plan : out_.plan.devices) {
      if (plan.steps.empty()) continue;
      const auto device = std::ranges::find(snapshot.devices, plan.device, &SnapshotDevice::id);
      if (device == snapshot.devices.end() || device->state != plan.before) {
        return fail(ErrorCode::kSystem, fmt::format("{}: the state of device {} changed while the repair "
                                                    "was planned", printable(snapshot.path), plan.device));
      }
      out.push_back({plan.device, plan.after});
    }
    return out;
  }

  Result<void> nobody_has_open(const std::string& file, const std::string& name) const {
    if (request_.force) return {};
    const std::vector<sys::Holder> holders = sys::who_has_open(calls_, file);
    if (holders.empty()) return {};
    return fail(ErrorCode::kSystem,
                fmt::format("{} is open in process {} ({}): end it first, or say --force", printable(name),
                            holders[0].pid, holders[0].name));
  }

  // Links in the way are resolved now: the journal has to lead to the same file later.
  Result<std::string> real_path(const std::string& path) const {
    VFSMEND_TRY_ASSIGN(const sys::Located located, sys::locate(calls_, AT_FDCWD, path));
    auto real = sys::path_of_fd(calls_, located.fd.get());
    if (!real) return fail(ErrorCode::kSystem, fmt::format("{}: its path cannot be told", printable(path)));
    return *std::move(real);
  }

  // Repairs that came before have left theirs: nothing of them is overwritten.
  Result<void> name_files(const std::string& file) {
    constexpr int kMost = 1000;
    for (int i = 1; i <= kMost; ++i) {
      const std::string number = i == 1 ? "" : fmt::format("-{}", i);
      out_.kept = fmt::format("{}.vfsmend-original{}", file, number);
      out_.journal = fmt::format("{}.vfsmend-journal{}", file, number);
      if (!is_there(out_.kept) && !is_there(out_.journal)) return {};
    }
    return fail(ErrorCode::kSystem, fmt::format("{}: {} originals of repairs lie beside it", printable(file), kMost));
  }

  Result<Journal> journal_of(const std::string& file, std::uint64_t size) const {
    VFSMEND_TRY_ASSIGN(const std::string snapshot, real_path(request_.check.snapshot_path));
    Journal journal{snapshot, file, out_.kept, size, false, {}, {}};
    for (const DevicePlan& plan : out_.plan.devices) {
      if (plan.steps.empty()) continue;
      journal.states.push_back({plan.device, state_digest(plan.before), state_digest(plan.after)});
      if (plan.host.work.empty()) continue;
      journal.host.push_back({plan.device, plan.host.share_path, plan.host.work});
    }
    journal.done = journal.host.empty();  // a file is replaced in one step: it is never half-way
    return journal;
  }

  Result<void> write_journal(const Journal& journal) const {
    return sys::replace_file(changes_, out_.journal,
                             journal_text(journal, out_.plan, utc_text(file_clock())),
                             sys::FileMode::kPrivate);
  }

  sys::Calls& calls_;
  sys::Changes& changes_;
  const RepairRequest& request_;
  const Progress& progress_;
  RepairResult out_;
};

}  // namespace

Result<RepairResult> repair_snapshot(sys::Calls& calls, sys::Changes& changes,
                                     const RepairRequest& request, const Progress& progress) {
  return Repair(calls, changes, request, progress).run();
}

}  // namespace vfsmend
