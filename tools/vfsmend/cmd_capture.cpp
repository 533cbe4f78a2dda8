// SPDX-License-Identifier: Apache-2.0
// `vfsmend capture`: the worker looks and writes the manifest; this process only says so.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>

#include <array>
#include <set>

#include "base/text.h"
#include "manifest/manifest_file.h"
#include "manifest/mtree.h"
#include "report/capture_text.h"
#include "report/json.h"
#include "sys/atomic_file.h"
#include "sys/heap.h"
#include "sys/listing.h"
#include "sys/read_file.h"
#include "verdict/capture_snapshot.h"
#include "verdict/hidden_file.h"
#include "vfsmend/commands.h"
#include "vfsmend/looking.h"
#include "vfsmend/settings.h"

namespace vfsmend {
namespace {

class CaptureRun {
 public:
  CaptureRun(const CaptureSettings& settings, const Io& io, const TextStyle& style)
      : settings_(settings), io_(io), style_(style) {}

  Rendered look(const Progress& progress) {
    open_target();
    CaptureRequest in_worker = settings_.request;
    in_worker.what.expect_memory = sys::fetch_heap;
    in_worker.second = &second_;
    Result<CaptureResult> result = capture_snapshot(*io_.calls, in_worker, progress);
    if (!result) {
      return {exit_status::kUsage, "",
              message(settings_.run.trace_id, "capture: " + result.error().text)};
    }
    if (result->report.reason.empty()) {
      if (settings_.mtree) return specification(*result);
      progress(fmt::format("the manifest {}", target_));
      write(*result);
    }
    return told(result->report);
  }

  Rendered unable(Unable why, const std::string& reason) {
    const auto code = why == Unable::kDeadline ? std::optional(Code::kE001) : std::nullopt;
    CheckRequest what = settings_.request.what;
    if (!settings_.request.tree.empty()) what.snapshot_path = settings_.request.tree;
    Rendered rendered = told(not_looked(what, code, reason));
    if (why == Unable::kCancelled) rendered.exit = exit_status::kCancelled;
    return rendered;
  }

 private:
  // Before the worker may enter another mount namespace, where the name leads elsewhere.
  void open_target() {
    target_ = settings_.file.empty() && settings_.request.tree.empty()
                  ? manifest_path_of(*io_.calls, settings_.request.what.snapshot_path)
                  : settings_.file;
    const std::size_t slash = target_.rfind('/');
    const std::string directory = slash == std::string::npos ? "."
                                  : slash == 0               ? "/"
                                                             : target_.substr(0, slash);
    if (auto found = sys::locate(*io_.calls, AT_FDCWD, directory)) directory_ = std::move(found->fd);
    name_ = slash == std::string::npos ? target_ : target_.substr(slash + 1);
  }

  void write(CaptureResult& result) {
    Report& report = result.report;
    const auto unwritten = [&](const std::string& text) {
      report.reason = fmt::format("{}: {}", target_, text);
      report.verdict = Verdict::kIndeterminate;
    };
    const Result<ByteVector> bytes = encode_manifest(result.manifest, &second_);
    if (!bytes) return unwritten(bytes.error().text);
    if (!directory_.valid()) return unwritten("its directory cannot be opened");
    const std::string file = fmt::format("/proc/self/fd/{}/{}", directory_.get(), name_);
    for (const KeptFile& kept : result.kept) {
      const Result<void> copied = keep(kept, result.daemon.get(), file);
      if (copied) continue;
      return unwritten(fmt::format("the bytes of /proc/{}/{}: {}", settings_.request.daemon_pid, kept.file.link,
                                   copied.error().text));
    }
    const Result<void> written =
        sys::replace_file(*io_.changes, file, as_text(*bytes), sys::FileMode::kPrivate);
    // Begins with the name that we gave it, which is none of the caller's.
    if (!written) return unwritten(written.error().text.substr(printable(file).size() + 2));
    report.manifest = ManifestInfo{target_, bytes->size(),
                                   std::string(fact(result.manifest.facts, "time"))};
    tell_left_over(result);
  }

  // Of captures that this one replaced, or that were cut short. Not removed: another may be on its way.
  void tell_left_over(CaptureResult& result) const {
    std::set<std::string> meant;
    for (const KeptFile& kept : result.kept) meant.insert(kept_path(name_, kept.file.facts.ino, kept.hash));
    open_how how{};
    how.flags = O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC;
    const sys::UniqueFd fd(io_.calls->openat2(directory_.get(), ".", how));
    if (!fd.valid()) return;
    std::set<std::string> left;
    std::array<std::uint8_t, 32768> buffer;
    static_cast<void>(sys::for_each_name(*io_.calls, fd.get(), buffer, [&](const char* name, std::uint64_t) {
      if (std::string_view(name).starts_with(name_ + ".kept-") && !meant.contains(name)) left.insert(name);
      return true;
    }));
    if (left.empty()) return;
    const bool one = left.size() == 1;
    result.report.assumptions.push_back(
        fmt::format("beside the manifest, and not meant by it: {}{}. A capture of before kept {}: {} can be removed",
                    *left.begin(), one ? "" : fmt::format(" and {} more", left.size() - 1), one ? "it" : "them",
                    one ? "it" : "they"));
  }

  Result<void> keep(const KeptFile& kept, int daemon, const std::string& manifest) {
    VFSMEND_TRY_ASSIGN(const sys::UniqueFd from, open_unlinked(*io_.calls, daemon, kept.file));
    ContentHasher hasher;
    const sys::CopyWatch watch{[&](Bytes piece) { hasher.add(piece); }, [&]() -> Result<void> {
                                 if (hasher.hash() == kept.hash) return {};
                                 return fail(ErrorCode::kSystem, "it changed while it was captured");
                               }};
    const ObjectFacts& facts = kept.file.facts;
    return sys::copy_to_file(*io_.changes, from.get(), facts.size, kept_path(manifest, facts.ino, kept.hash),
                             watch);
  }

  [[nodiscard]] Rendered specification(const CaptureResult& result) const {
    Rendered rendered;
    for (const ManifestSection& section : result.manifest.sections) {
      rendered.out += mtree_text(section);
    }
    for (const std::string& text : result.report.assumptions) {
      rendered.err += message(settings_.run.trace_id, text);
    }
    return rendered;
  }

  [[nodiscard]] Rendered told(const Report& report) const {
    Rendered rendered;
    rendered.exit = report.reason.empty() ? exit_status::kGood : exit_status::kOperational;
    if (settings_.format == Format::kJson) rendered.out = report_json(report, rendered.exit);
    else if (settings_.mtree) rendered.err = message(settings_.run.trace_id, report.reason);
    else rendered.out = capture_text(report, style_);
    return rendered;
  }

  const CaptureSettings& settings_;
  const Io& io_;
  TextStyle style_;
  std::string target_;  // as it is told
  std::string name_;    // in directory_
  sys::UniqueFd directory_;
  sys::SecondThread second_;  // of the worker
};

}  // namespace

Result<int> cmd_capture(const Parsed& parsed, const Io& io) {
  VFSMEND_TRY_ASSIGN(const CaptureSettings settings, capture_settings(parsed));
  const std::string& trace = settings.run.trace_id;
  const TextStyle style{text_width(io, false), use_color(io, settings.color, false)};
  for (const std::string& note : settings.run.notes) io.err(message(trace, note));
  CaptureRun run(settings, io, style);
  const Rendered rendered =
      look_bounded(settings.run, [&](const Progress& progress) { return run.look(progress); },
                   [&](Unable why, const std::string& reason) { return run.unable(why, reason); });
  return deliver(rendered, trace, settings.mtree ? settings.file : "", io);
}

}  // namespace vfsmend
