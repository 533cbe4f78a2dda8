// SPDX-License-Identifier: Apache-2.0
#include "verdict/device_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/text.h"
#include "manifest/capture.h"
#include "state/guess.h"
#include "verdict/host_walk.h"
#include "verdict/open_rules.h"
#include "verdict/rules.h"
#include "verdict/start_rules.h"

namespace vfsmend {
namespace {

// Adds what `work` takes, in microseconds.
template <typename F>
auto timed(std::int64_t& into, F work) {
  const auto start = std::chrono::steady_clock::now();
  auto result = work();
  into += std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                                start).count();
  return result;
}

class DeviceCheck {
 public:
  DeviceCheck(DeviceInput& input, const Progress& progress)
      : in_(input), to_(input.destination), progress_(progress), findings_(input.max_findings) {}

  DeviceOutcome run() {
    DeviceReport& report = out_.report;
    report.id = in_.device.id;
    report.tag = in_.device.tag;
    report.shared_dir = to_.shared_dir;
    report.profile = to_.profile;
    report.on_error = to_.on_error;
    if (!in_.device.state || (in_.device.state->empty() && is_cube_json())) {
      judge_absent_state();
    } else {
      progress_(fmt::format("device {}: the share {}", in_.device.id, to_.shared_dir));
      share_ = timed(out_.timing.walk, [&] { return open_share(in_.calls, to_); });
      const bool decoded = decode_state();
      if (out_.operational.empty()) judge_against_host(decoded);
    }
    close();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool is_cube_json() const {
    return in_.container == ContainerKind::kCube || in_.container == ContainerKind::kCloudHypervisor;
  }

  // The restore skips an absent state without a word; then the guest's session is gone.
  void judge_absent_state() {
    Restore& restore = out_.report.restore;
    restore.outcome = Outcome::kSucceeds;
    restore.dead_mount = true;
    findings_.add(Code::kS001, Verdict::kColdboot, [&] {
      Finding f;
      f.code = Code::kS001;
      f.verdict = Verdict::kColdboot;
      f.message = fmt::format("the snapshot holds {} state for the device: the restore goes on "
                              "without one, and the guest's file-system session is lost",
                              in_.device.state ? "an empty" : "no");
      f.guest_sees = "a dead mount, without an error at the resume";
      return f;
    });
  }

  bool decode_state() {
    const Bytes bytes = *in_.device.state;
    auto decoded = timed(out_.timing.decode, [&] { return decode(bytes, to_.reader); });
    if (!decoded) {
      judge_undecodable(decoded.error(), bytes);
      return false;
    }
    decoded_ = std::move(*decoded);
    if (decoded_.state.inodes.size() > kMaxInodes) {
      out_.operational = "more inodes than this tool can index";
      return false;
    }
    out_.report.dialect = decoded_.dialect;
    out_.report.inodes = decoded_.state.inodes.size();
    out_.report.handles = decoded_.state.handles.size();
    judge_reading(bytes);
    return true;
  }

  // Another reader takes these bytes whole, as a healthy state: ours is the wrong one.
  [[nodiscard]] std::optional<Dialect> better_reader(Bytes bytes) const {
    for (const Reader other : {Reader::kVirtiofsd, Reader::kCube}) {
      if (other == to_.reader) continue;
      const auto decoded = decode(bytes, other);
      if (decoded && decoded->consumed == bytes.size() && looks_healthy(decoded->state) &&
          decoded->dialect != decoded_.dialect && !decoded->state.inodes.empty()) {
        return decoded->dialect;
      }
    }
    return std::nullopt;
  }

  void judge_undecodable(const DecodeFailure& failure, Bytes bytes) {
    out_.report.restore = failed(decode_error(failure.error), to_);
    const std::string where = fmt::format("{} at byte {} ({})", postcard::text_of(failure.error),
                                          failure.offset, failure.field);
    if (!in_.reader_known) {
      out_.operational = fmt::format("is this a device state? No dialect reads it: {}. Give "
                                     "--profile or --dialect if it is one", where);
      return;
    }
    const auto better = better_reader(bytes);
    const Verdict verdict = better ? Verdict::kIndeterminate : Verdict::kColdboot;
    findings_.add(Code::kS002, verdict, [&] {
      Finding f;
      f.code = Code::kS002;
      f.verdict = verdict;
      f.message = better ? fmt::format("the state is a healthy {} one, which the {} loader does "
                                       "not read: is the profile right? ({})",
                                       name_of(*better), name_of(to_.profile), where)
                         : fmt::format("the state cannot be decoded: {}", where);
      f.after = {{"offset", std::to_string(failure.offset)}, {"field", failure.field}};
      f.guest_sees = "nothing: the restore fails";
      return f;
    });
  }

  void judge_reading(Bytes bytes) {
    const bool whole = decoded_.consumed == bytes.size();
    if (whole && looks_healthy(decoded_.state)) return;
    const auto better = better_reader(bytes);
    if (better) {
      misread_ = true;
      findings_.add(Code::kS002, Verdict::kIndeterminate, [&] {
        Finding f;
        f.code = Code::kS002;
        f.verdict = Verdict::kIndeterminate;
        f.message = fmt::format("the state is a healthy {} one: is the profile {} right?",
                                name_of(*better), name_of(to_.profile));
        f.guest_sees = "nothing to rely on: the loader misreads it";
        return f;
      });
    } else if (!whole) {
      const std::size_t rest = bytes.size() - decoded_.consumed;
      findings_.add(Code::kS002, Verdict::kRepair, [&] {
        Finding f;
        f.code = Code::kS002;
        f.verdict = Verdict::kRepair;
        f.message = fmt::format("{} bytes follow the end of the state at byte {}; loaders ignore "
                                "them", rest, decoded_.consumed);
        f.after = {{"trailing_bytes", std::to_string(rest)}};
        f.guest_sees = "nothing";
        f.repair = Remedy{"cut the trailing bytes", true, {}, Mend::kCutTrailing};
        return f;
      });
    }
  }

  // Without a state that decodes there is nothing to look for, but the share may be missing too.
  void judge_against_host(bool decoded) {
    const NodeIndex index(decoded_.state);
    const LoadOrder order = load_order(decoded_.state, index);
    std::optional<Record> record;
    if (decoded && !misread_ && in_.recorded != nullptr) {
      record.emplace(*in_.recorded, captured_at(), decoded_.state, index, order);
    }
    const WalkInput input{in_.calls, decoded_.state, index, order, to_, share_,
                          record ? &*record : nullptr};
    std::optional<HostWalk> walk;
    if (decoded && share_.fd.valid()) {
      walk = timed(out_.timing.walk, [&] { return walk_host(input); });
    }
    const HostWalk nothing_seen;
    const HostWalk& seen = walk ? *walk : nothing_seen;
    const auto no_start = cannot_start(in_.calls, to_, share_);
    if (no_start) {
      out_.report.restore = no_start->restore;
      if (no_start->code) judge_no_start(*no_start);
    } else if (decoded) {
      out_.report.restore = predict(input, seen).restore;
    }
    judge(input, walk ? &*walk : nullptr, decoded);
    if (!decoded) return;
    if (in_.judge_elsewhere) look_elsewhere(input, seen);
    name_assumptions();
  }

  [[nodiscard]] std::int64_t captured_at() const {
    std::int64_t ns = 0;
    const std::string_view text = fact(in_.options->manifest->facts, "time-ns");
    std::from_chars(text.data(), text.data() + text.size(), ns);
    return ns;
  }

  // The state's bytes are the captured ones; a repair adds the digest of what it made of them.
  [[nodiscard]] bool is_recorded_state() const {
    if (in_.recorded == nullptr || fact(in_.recorded->facts, "state-xxh3").empty()) return true;
    const std::string digest = state_digest(*in_.device.state);
    return std::ranges::any_of(in_.recorded->facts, [&](const auto& f) {
      return f.first == "state-xxh3" && f.second == digest;
    });
  }

  void judge_no_start(const StartFailure& failure) {
    findings_.add(*failure.code, Verdict::kRepair, [&] {
      Finding f;
      f.code = *failure.code;
      f.verdict = Verdict::kRepair;
      f.message = failure.message;
      f.guest_sees = "nothing: there is no daemon to restore it";
      f.repair = Remedy{failure.action, false, {}};
      return f;
    });
  }

  void judge(const WalkInput& input, const HostWalk* walk, bool decoded) {
    const HostWalk nothing_seen;
    const LoaderTexts texts(input, walk ? *walk : nothing_seen);
    const RuleInput rule_input{input, walk, texts, out_.report.restore, in_.options,
                               is_recorded_state()};
    Rules rules(rule_input, findings_);
    rules.judge_generation();
    rules.judge_share();
    if (!decoded || misread_) return;
    rules.judge_state();
    rules.judge_flags();
    rules.judge_options();
    if (!walk) return;
    rules.judge_nodes();
    rules.judge_handles();
    rules.judge_metadata();
    timed(out_.timing.hash, [&] {
      rules.judge_contents();
      return true;
    });
    rules.judge_hints();
    out_.assumptions.insert(out_.assumptions.end(), rules.notes().begin(), rules.notes().end());
    if (out_.report.restore.outcome == Outcome::kHangs) {
      findings_.add(Code::kS003, Verdict::kColdboot, [] {
        Finding f;
        f.code = Code::kS003;
        f.verdict = Verdict::kColdboot;
        f.message = "a mount path of the state is a FIFO on this host: the loader opens it and "
                    "never comes back";
        f.guest_sees = "nothing: the restore hangs";
        return f;
      });
    }
  }

  void look_elsewhere(const WalkInput& input, const HostWalk& walk) {
    const auto add = [&](Profile profile, OnError on_error) {
      if (profile == to_.profile && on_error == to_.on_error) return;
      Destination other = to_;
      other.profile = profile;
      other.on_error = on_error;
      const WalkInput other_input{input.calls, input.state, input.index,
                                  input.order, other,       input.share};
      // Only a remapping loader looks in other places.
      const bool same_places = profile != Profile::kCubeRemap || !other.remap_filter;
      const HostWalk again = same_places || !input.share.fd.valid() ? HostWalk{}
                                                                    : walk_host(other_input);
      const auto no_start = cannot_start(in_.calls, other, input.share);
      const Restore restore =
          no_start ? no_start->restore : predict(other_input, same_places ? walk : again).restore;
      out_.report.elsewhere.push_back(
          {profile, on_error, restore.outcome, restore.error, restore.dead_mount});
    };
    if (!to_.is_cube()) {
      add(Profile::kVirtiofsd, OnError::kAbort);
      add(Profile::kVirtiofsd, OnError::kGuestError);
      return;
    }
    for (const Profile profile :
         {Profile::kCubeAbort, Profile::kCubeGuestError, Profile::kCubeRemap}) {
      add(profile, *fixed_on_error(profile));
    }
  }

  void name_assumptions() {
    const State& state = decoded_.state;
    if (!to_.is_cube() && !to_.rlimit_nofile) {
      out_.assumptions.push_back(fmt::format(
          "the daemon has descriptors for {} inodes and {} handles: its limit is not known without "
          "--rlimit-nofile", state.inodes.size(), state.handles.size()));
    }
    const bool writes = std::ranges::any_of(state.handles, [](const Handle& h) {
      return (h.flags & kOpenAccessMode) != 0 && (h.flags & kOpenPath) == 0;
    });
    if (writes) {
      out_.assumptions.emplace_back(
          "no file that the guest writes to is being executed or leased on the host: that shows "
          "only when it is opened");
    }
    if (to_.uid != 0 && !to_.capabilities.dac_override) {
      out_.assumptions.push_back(
          fmt::format("the daemon (uid {}) is in no group but {}", to_.uid, to_.gid));
    }
    if (!in_.reader_known) {
      out_.assumptions.push_back(fmt::format("the dialect is {}, by the look of the bytes; "
                                             "--profile or --dialect makes it certain",
                                             name_of(decoded_.dialect)));
    }
  }

  // A raw file may be anything: what destroys a sandbox must not rest on a guess.
  void close() {
    out_.report.verdict = findings_.verdict();
    findings_.add_counts(out_.counts);
    out_.report.findings = findings_.take();
    const bool destroys =
        out_.report.verdict == Verdict::kColdboot || out_.report.verdict == Verdict::kRebuild;
    if (destroys && !in_.reader_known) {
      out_.operational = fmt::format(
          "the verdict would be {}, but nobody said what this file is: give --profile or --dialect",
          name_of(out_.report.verdict));
    }
    if (!out_.operational.empty()) out_.report.verdict = Verdict::kIndeterminate;
  }

  DeviceInput& in_;
  Destination& to_;
  const Progress& progress_;
  FindingCollector findings_;
  Share share_;
  Decoded decoded_;
  bool misread_ = false;  // healthy bytes of another program: nothing found in them means anything
  DeviceOutcome out_;
};

}  // namespace

DeviceOutcome check_device(DeviceInput input, const Progress& progress) {
  return DeviceCheck(input, progress).run();
}

}  // namespace vfsmend
