// SPDX-License-Identifier: Apache-2.0
#include "verdict/capture_snapshot.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "manifest/unlinked.h"
#include "snapshot/open.h"
#include "state/codec.h"
#include "state/guess.h"
#include "sys/fd_path.h"
#include "sys/read_file.h"
#include "verdict/destination_of.h"
#include "verdict/findings.h"
#include "verdict/hidden_file.h"
#include "verdict/open_rules.h"
#include "verdict/preconditions.h"

namespace vfsmend {
namespace {

constexpr std::size_t kMostNotes = 1000;  // of one kind in the report; all are counted

std::string_view words(TreeNote::Kind kind) {
  switch (kind) {
    case TreeNote::Kind::kUnreadable: return "cannot be read";
    case TreeNote::Kind::kChanging: return "changed while it was captured: recorded as not known";
    case TreeNote::Kind::kVanished: return "vanished while it was captured";
    case TreeNote::Kind::kNotHashed: return "not hashed: the hash budget was used up";
    case TreeNote::Kind::kNotUtf8: return "its name is not UTF-8";
  }
  return "";
}

class SnapshotCapture {
 public:
  SnapshotCapture(sys::Calls& calls, const CaptureRequest& request, const Progress& progress)
      : calls_(calls), request_(request), progress_(progress) {}

  Result<CaptureResult> run() {
    Report& report = out_.report;
    report.trace_id = request_.what.trace_id;
    report.snapshot_path = request_.tree.empty() ? request_.what.snapshot_path : request_.tree;
    report.reason = cannot_look(calls_);
    note_facts();
    if (request_.daemon_pid != 0) find_daemon();
    if (report.reason.empty()) {
      VFSMEND_TRY(request_.tree.empty() ? capture_devices() : capture_tree());
    }
    if (!report.reason.empty()) report.verdict = Verdict::kIndeterminate;
    return std::move(out_);
  }

 private:
  void note_facts() {
    auto& facts = out_.manifest.facts;
    const std::int64_t now = file_clock();
    facts.emplace_back("tool", "vfsmend " VFSMEND_VERSION);
    facts.emplace_back("time", utc_text(now));
    facts.emplace_back("time-ns", std::to_string(now));
    if (auto host = sys::read_proc_file(calls_, "/proc/sys/kernel/hostname")) {
      facts.emplace_back("host", host->substr(0, host->find('\n')));
    }
    const auto note = [&](const char* key, const std::string& value) {
      if (!value.empty()) facts.emplace_back(key, value);
    };
    note("snapshot-id", request_.snapshot_id);
    note("sandbox-id", request_.sandbox_id);
    note("parent-id", request_.parent_id);
    if (request_.daemon_pid != 0) note_daemon(facts);
  }

  void note_daemon(Facts& facts) {
    for (const char* name : {"cmdline", "uid_map", "gid_map"}) {
      const std::string path = fmt::format("/proc/{}/{}", request_.daemon_pid, name);
      auto text = sys::read_proc_file(calls_, path.c_str());
      if (!text) {
        out_.report.assumptions.push_back(fmt::format("not recorded: {}", text.error().text));
        continue;
      }
      std::ranges::replace(*text, '\0', ' ');
      while (!text->empty() && (text->back() == ' ' || text->back() == '\n')) text->pop_back();
      facts.emplace_back(fmt::format("daemon-{}", name), *text);
    }
  }

  // What /proc says of it is asked for here, where the caller's process ids are meant.
  void find_daemon() {
    locks_ = count_locks(calls_, request_.daemon_pid);
    auto found = open_process(calls_, request_.daemon_pid);
    if (found) out_.daemon = *std::move(found);
    else out_.report.assumptions.push_back("not looked into: " + found.error().text);
  }

  Result<void> capture_tree() {
    CaptureInput input{calls_, request_.tree, "", nullptr, {}, true, request_.hash,
                       request_.hash_budget, progress_,
                       request_.what.expect_memory, request_.second};
    DeviceReport device;
    device.shared_dir = request_.tree;
    capture_one(input, std::move(device), nullptr);
    return {};
  }

  Result<void> capture_devices() {
    const CheckRequest& what = request_.what;
    progress_(fmt::format("the snapshot {}", what.snapshot_path));
    const auto snapshot =
        open_snapshot(calls_, what.snapshot_path, {what.overlay_file}, out_.report.container);
    if (!snapshot) {
      if (snapshot.error().code == ErrorCode::kUsage) return tl::make_unexpected(snapshot.error());
      out_.report.reason = snapshot.error().text;
      return {};
    }
    out_.report.container = snapshot->kind;
    VFSMEND_TRY_ASSIGN(const auto shares, shares_of(what, *snapshot));
    if (what.mount_namespace_of != 0) {
      out_.report.reason = enter_mount_namespace(calls_, what.mount_namespace_of);
    }
    for (std::size_t i = 0; i < snapshot->devices.size() && out_.report.reason.empty(); ++i) {
      VFSMEND_TRY(capture_device(*snapshot, snapshot->devices[i], shares[i]));
    }
    const auto changed = what.mount_namespace_of == 0 ? changed_files(calls_, snapshot->files)
                                                      : std::vector<std::string>();
    if (!changed.empty() && out_.report.reason.empty()) {
      out_.report.reason = fmt::format("{} changed while it was captured: it is still being written",
                                       changed.front());
    }
    return {};
  }

  Result<void> capture_device(const Snapshot& snapshot, const SnapshotDevice& device,
                              const std::string& share) {
    if (!device.state) {
      out_.report.assumptions.push_back(fmt::format("device {}: the snapshot has no state of it, and "
                                                    "nothing was captured for it", device.id));
      return {};
    }
    const CheckRequest& what = request_.what;
    const bool known = snapshot.kind != ContainerKind::kRaw || what.profile || what.dialect;
    const auto dialect = known ? what.dialect : guess_dialect(*device.state);
    VFSMEND_TRY_ASSIGN(const Destination source,
                       destination_of(what, snapshot.kind, device, dialect, share));
    const auto decoded = decode(*device.state, source.reader);
    if (!decoded) {
      out_.report.reason =
          fmt::format("device {}: the state cannot be decoded: {} at byte {} ({})", device.id,
                      postcard::text_of(decoded.error().error), decoded.error().offset,
                      decoded.error().field);
      return {};
    }
    DeviceReport report;
    report.id = device.id;
    report.tag = device.tag;
    report.shared_dir = share;
    report.dialect = decoded->dialect;
    report.profile = source.profile;
    report.on_error = source.on_error;
    report.inodes = decoded->state.inodes.size();
    report.handles = decoded->state.handles.size();
    CaptureInput input{calls_, share, device.id, &decoded->state, *device.state,
                       request_.whole_tree, request_.hash, request_.hash_budget, progress_,
                       request_.what.expect_memory, request_.second};
    capture_one(input, std::move(report), &source);
    return {};
  }

  void capture_one(const CaptureInput& input, DeviceReport report, const Destination* source) {
    Result<Captured> captured = capture_share(input);
    if (!captured) {
      out_.report.reason = captured.error().text;
      return;
    }
    if (source != nullptr) note_source(*source, captured->section);
    FindingCollector findings(request_.what.max_findings);
    if (input.state != nullptr) {
      const Result<void> kept = keep_unlinked(*input.state, captured->section, findings);
      if (!kept) {
        out_.report.reason = kept.error().text;
        return;
      }
    }
    warn_of_names(*captured, findings);
    if (input.state != nullptr && !request_.quiesced) warn_of_dirty_data(*input.state, findings);
    tell_notes(*captured);
    findings.add_counts(out_.report.counts);
    report.findings = findings.take();
    report.capture = CaptureSummary{captured->section.entries.size_of(), captured->hashed_bytes,
                                    captured->unlocated};
    out_.report.devices.push_back(std::move(report));
    out_.manifest.sections.push_back(std::move(captured->section));
  }

  // H001: open, and without a name.
  Result<void> keep_unlinked(const State& state, ManifestSection& section, FindingCollector& findings) {
    const NodeIndex index(state);
    std::vector<UnlinkedFile> files;
    if (request_.daemon_pid != 0) section.facts.emplace_back("locks", std::to_string(locks_));
    if (out_.daemon.valid()) {
      auto found = find_unlinked(calls_, out_.daemon.get(), section.devices);
      if (found) files = *std::move(found);
      else out_.report.assumptions.push_back("not looked into: " + found.error().text);
      find_nodes(files, state, index);
    }
    std::set<NodeId> kept;
    for (const UnlinkedFile& file : files) {
      if (!request_.keep_unlinked) break;
      VFSMEND_TRY_ASSIGN(const ContentHash hash, hash_unlinked(file));
      out_.kept.push_back({file, hash});
      section.facts.emplace_back("kept", kept_fact(file.node, file.facts, hash));
      if (file.node != 0) kept.insert(file.node);
    }
    tell_unlinked(state, index, files, kept, findings);
    return {};
  }

  Result<ContentHash> hash_unlinked(const UnlinkedFile& file) {
    const std::string name = fmt::format("the bytes of /proc/{}/{}", request_.daemon_pid, file.link);
    progress_(name);
    auto hash = [&]() -> Result<ContentHash> {
      VFSMEND_TRY_ASSIGN(const sys::UniqueFd fd, open_unlinked(calls_, out_.daemon.get(), file));
      return hash_content(calls_, fd.get(), file.facts.size);
    }();
    if (!hash) return tl::make_unexpected(std::move(hash).error().context(name));
    return hash;
  }

  static void tell_unlinked(const State& state, const NodeIndex& index, const std::vector<UnlinkedFile>& files,
                            const std::set<NodeId>& kept, FindingCollector& findings) {
    for (const Handle& handle : state.handles) {
      const EntryIndex e = index.first_entry(handle.inode);
      if (e == kNoIndex || !location_as<Invalid>(state.inodes[e])) continue;
      findings.add(Code::kH001, Verdict::kResume, [&] {
        Finding f;
        f.code = Code::kH001;
        f.inode = handle.inode;
        f.handle = handle.id;
        f.open = true;
        f.message = kept.contains(handle.inode)
                        ? "the source could not say where it is; its bytes are kept"
                    : files.empty()
                        ? "the source could not say where it is: unlinked, or its name is not UTF-8. "
                          "--daemon-pid and --keep-unlinked keep the bytes of unlinked files"
                        : "the source could not say where it is, and which of the unlinked files it is "
                          "cannot be told";
        f.guest_sees = "nothing now; EIO or a failed restore after a resume";
        return f;
      });
    }
  }

  static void note_source(const Destination& source, ManifestSection& section) {
    const auto note = [&](const char* key, std::string value) {
      section.facts.emplace_back(key, std::move(value));
    };
    note("profile", std::string(name_of(source.profile)));
    note("sandbox-mode", std::string(name_of(source.sandbox)));
    note("cache", source.cache);
    if (source.is_cube()) return;
    note("virtiofsd-version", fmt::format("{}.{}.{}", source.version.major, source.version.minor,
                                          source.version.patch));
  }

  static void warn_of_names(const Captured& captured, FindingCollector& findings) {
    for (const TreeNote& note : captured.notes) {
      if (note.kind != TreeNote::Kind::kNotUtf8) continue;
      findings.add(Code::kN001, Verdict::kResume, [&] {
        Finding f;
        f.code = Code::kN001;
        f.path = path_of(captured.section.entries, note.entry);
        f.message = "its name is not UTF-8: the state cannot say where it is, and an inode of it that "
                    "the guest knows is lost in every snapshot";
        f.guest_sees = "nothing now; EIO or a failed restore after a resume";
        return f;
      });
    }
  }

  static void warn_of_dirty_data(const State& state, FindingCollector& findings) {
    if (!state.options.writeback) return;
    for (const Handle& handle : state.handles) {
      if ((handle.flags & kOpenAccessMode) == 0) continue;
      findings.add(Code::kD001, Verdict::kResume, [&] {
        Finding f;
        f.code = Code::kD001;
        f.inode = handle.inode;
        f.handle = handle.id;
        f.open = true;
        f.message = "the guest may hold data of this file that it has not written back: sync in the "
                    "guest before the pause, and say --quiesced";
        f.guest_sees = "its own data, which nobody else sees before it is written back";
        return f;
      });
    }
  }

  void tell_notes(const Captured& captured) {
    std::size_t told = 0;
    std::size_t all = 0;
    for (const TreeNote& note : captured.notes) {
      if (note.kind == TreeNote::Kind::kNotUtf8 || ++all > kMostNotes) continue;
      ++told;
      std::string text = fmt::format("/{}: {}", path_of(captured.section.entries, note.entry),
                                     words(note.kind));
      if (note.kind == TreeNote::Kind::kUnreadable) {
        text += fmt::format(": {}: {}", note.what, errno_text(note.err));
      }
      out_.report.assumptions.push_back(std::move(text));
    }
    if (all > told) {
      out_.report.assumptions.push_back(fmt::format("and {} more like these", all - told));
    }
    if (captured.listing_cut) {
      out_.report.assumptions.emplace_back(
          "some directories are too large to be searched for names that are not UTF-8: --tree does");
    }
  }

  sys::Calls& calls_;
  const CaptureRequest& request_;
  const Progress& progress_;
  CaptureResult out_;
  std::uint64_t locks_ = 0;  // of the daemon, on files of the host
};

}  // namespace

Result<CaptureResult> capture_snapshot(sys::Calls& calls, const CaptureRequest& request,
                                       const Progress& progress) {
  return SnapshotCapture(calls, request, progress).run();
}

std::string manifest_path_of(sys::Calls& calls, const std::string& snapshot_path) {
  const auto found = sys::locate(calls, AT_FDCWD, snapshot_path);
  if (found && S_ISDIR(found->mode)) return snapshot_path + "/vfsmend.manifest";
  return snapshot_path + ".vfsmend-manifest";
}

}  // namespace vfsmend
