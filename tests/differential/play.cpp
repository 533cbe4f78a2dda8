// SPDX-License-Identifier: Apache-2.0
#include "play.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "daemon/migrate.h"
#include "daemon/virtiofsd.h"
#include "damage.h"
#include "guest.h"
#include "host.h"
#include "judge.h"
#include "repairs.h"
#include "verdict/destination_of.h"
#include "vfsmend/switches.h"

namespace vfsmend::differential {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{20'000};  // for a daemon on a busy machine
constexpr milliseconds kHangAfter{700};    // for a load that is predicted to hang

daemon::VirtiofsdStart start_of(const Bench& bench, const Host& host,
                                const std::vector<std::string>& words) {
  daemon::VirtiofsdStart how{bench.virtiofsd, words, host.directory(), false};
  how.args.insert(how.args.end(), {"--shared-dir", host.share(), "--seccomp", "none"});
  return how;
}

// A daemon that loads under one policy; started when it is needed, and kept for the next load.
class Loader {
 public:
  Loader(const Bench& bench, const Plan& plan, const Host& host, OnError on_error)
      : bench_(bench), plan_(plan), host_(host), on_error_(on_error) {}

  [[nodiscard]] OnError on_error() const { return on_error_; }
  void restart() { daemon_.reset(); }

  Result<Seen> load(Bytes state, bool may_hang) {
    Seen seen;
    VFSMEND_TRY(start(seen));
    if (!daemon_) return seen;
    const auto answer_by = sys::Deadline::in(may_hang ? kHangAfter : kPatience);
    auto answer = daemon::load_state(daemon_->wire(), state, answer_by);
    if (!answer) {
      if (answer.error().code != ErrorCode::kTimeout) {
        return tl::make_unexpected(daemon_->explain(std::move(answer.error())));
      }
      seen.end = Seen::End::kHung;
      daemon_.reset();
      return seen;
    }
    VFSMEND_TRY_ASSIGN(const std::string text, daemon_->log(log_at_));
    seen.log = daemon::parse_log(text);
    if (answer->loaded) {
      seen.end = Seen::End::kLoaded;
      VFSMEND_TRY_ASSIGN(const ByteVector saved,
                         daemon::save_state(daemon_->wire(), sys::Deadline::in(kPatience)));
      seen.remains = remains_of(saved);
    }
    VFSMEND_TRY(let_go());
    return seen;
  }

 private:
  // Has it load nothing: a file that it holds open could still be opened by its handle when it is
  // unlinked, by the model too.
  Result<void> let_go() {
    constexpr std::array<std::uint8_t, 10> kNeverMounted = {1, 0, 2, 0, 0, 0, 0, 0, 0, 0};
    VFSMEND_TRY(daemon::load_state(daemon_->wire(), kNeverMounted, sys::Deadline::in(kPatience)));
    VFSMEND_TRY(daemon_->log(log_at_));
    return {};
  }

  // A daemon that does not start is something seen.
  Result<void> start(Seen& seen) {
    if (daemon_) return {};
    daemon::VirtiofsdStart how = start_of(bench_, host_, plan_.load_words);
    how.args.push_back("--migration-on-error=" + std::string(name_of(on_error_)));
    VFSMEND_TRY_ASSIGN(auto started, daemon::Virtiofsd::start(how));
    daemon_ = std::move(started);
    log_at_ = 0;
    const auto greeted = daemon::greet(daemon_->wire(), sys::Deadline::in(kPatience));
    if (greeted) return {};
    if (!daemon_->ended(sys::Deadline::in(kPatience))) return tl::make_unexpected(greeted.error());
    VFSMEND_TRY_ASSIGN(const std::string text, daemon_->log(log_at_));
    seen.end = Seen::End::kNotStarted;
    seen.log = daemon::parse_log(text);
    daemon_.reset();
    return {};
  }

  const Bench& bench_;
  const Plan& plan_;
  const Host& host_;
  OnError on_error_;
  std::optional<daemon::Virtiofsd> daemon_;
  std::uint64_t log_at_ = 0;
};

class Player {
 public:
  Player(const Bench& bench, const Plan& plan, const std::string& name)
      : bench_(bench), plan_(plan), name_(name), host_(bench.bases, plan.filesystem, name),
        abort_(bench, plan, host_, OnError::kAbort),
        guest_error_(bench, plan, host_, OnError::kGuestError) {}

  Result<Score> run() {
    std::size_t at = 0;
    for (; at < plan_.steps.size() && plan_.steps[at].kind < Kind::kLookup; ++at) {
      host_.apply(plan_.steps[at]);
    }
    VFSMEND_TRY(work_as_guest(at));
    std::vector<Step> damage;
    for (; at < plan_.steps.size(); ++at) {
      const Step& step = plan_.steps[at];
      if (step.kind == Kind::kDamage) {
        damage.push_back(step);
      } else if (step.kind != Kind::kLoad) {
        host_.apply(step);
      } else {
        VFSMEND_TRY(judge_round(at, damaged(state_, damage)));
        damage.clear();
      }
    }
    return std::move(score_);
  }

 private:
  // The steps of the guest up to the save; `at` moves behind it.
  Result<void> work_as_guest(std::size_t& at) {
    VFSMEND_TRY_ASSIGN(auto daemon,
                       daemon::Virtiofsd::start(start_of(bench_, host_, plan_.save_words)));
    auto done = guest_steps(daemon, at);
    if (!done) return tl::make_unexpected(daemon.explain(std::move(done.error())));
    return {};
  }

  Result<void> guest_steps(daemon::Virtiofsd& daemon, std::size_t& at) {
    VFSMEND_TRY_ASSIGN(const std::uint64_t features,
                       daemon::greet(daemon.wire(), sys::Deadline::in(kPatience)));
    VFSMEND_TRY_ASSIGN(auto session,
                       daemon::FuseSession::start(daemon.wire(), features, {}, kPatience));
    Guest guest(std::move(session));
    for (; at < plan_.steps.size() && plan_.steps[at].kind != Kind::kSave; ++at) {
      VFSMEND_TRY(guest.apply(plan_.steps[at]));
    }
    ++at;
    VFSMEND_TRY(guest.stop());
    VFSMEND_TRY_ASSIGN(state_, daemon::save_state(daemon.wire(), sys::Deadline::in(kPatience)));
    return {};
  }

  // What a person would say to vfsmend of the daemons that load.
  [[nodiscard]] Result<CheckRequest> check_request(OnError on_error) const {
    Switches switches;
    VFSMEND_TRY_ASSIGN(switches.destination.version, parse_version(bench_.version));
    for (const std::string& word : plan_.load_words) {
      const std::size_t equals = word.find('=');
      const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
      VFSMEND_TRY(apply_switch(word.substr(2, equals - 2), value, switches));
    }
    CheckRequest request;
    request.switches = switches.destination;
    request.given = switches.given;
    request.on_error = on_error;
    request.profile = Profile::kVirtiofsd;
    request.shares.push_back({"", host_.share()});
    return request;
  }

  [[nodiscard]] Result<Destination> destination(OnError on_error) const {
    VFSMEND_TRY_ASSIGN(const CheckRequest request, check_request(on_error));
    return destination_of(request, ContainerKind::kRaw, SnapshotDevice{}, std::nullopt, host_.share());
  }

  Result<void> judge_round(std::size_t at, const ByteVector& state) {
    if (host_.mounts_changed()) {
      abort_.restart();
      guest_error_.restart();
    }
    if (state != state_) ++score_.outcomes["damaged states"];
    // The model first: a load may truncate and create what the flags of a damaged state say.
    VFSMEND_TRY_ASSIGN(const Destination abort, destination(OnError::kAbort));
    VFSMEND_TRY_ASSIGN(const Destination guest_error, destination(OnError::kGuestError));
    const Predicted models[] = {predicted(state, abort), predicted(state, guest_error)};
    const std::array<Loader*, 2> loaders = {&abort_, &guest_error_};
    for (std::size_t i = 0; i < loaders.size(); ++i) {
      Loader* const loader = loaders[i];
      const Predicted& model = models[i];
      VFSMEND_TRY_ASSIGN(const Seen seen,
                         loader->load(state, model.restore.outcome == Outcome::kHangs));
      note(at, loader->on_error(), model, seen);
    }
    // Behind the loads, which may have changed the tree.
    for (std::size_t i = 0; i < loaders.size(); ++i) {
      VFSMEND_TRY(judge_repair(at, state, models[i], *loaders[i]));
    }
    return {};
  }

  Result<void> judge_repair(std::size_t at, const ByteVector& state, const Predicted& model,
                            Loader& loader) {
    const OnError on_error = loader.on_error();
    VFSMEND_TRY_ASSIGN(CheckRequest check, check_request(on_error));
    VFSMEND_TRY_ASSIGN(const RepairOutcome outcome,
                       try_repair({bench_.states + "/" + name_, state, std::move(check), Dice(plan_.steps[at].n),
                                   model.verdict == Verdict::kResume,
                                   [&](Bytes now) { return loader.load(now, false); }}));
    if (outcome.planned) ++score_.outcomes["planned"];
    if (outcome.repaired) ++score_.outcomes["repaired"];
    if (outcome.undone) ++score_.outcomes["undone"];
    tell(at, on_error, "repair: ", outcome.wrong);
    return {};
  }

  void tell(std::size_t at, OnError on_error, std::string_view of, const std::vector<std::string>& wrong) {
    if (wrong.empty()) return;
    if (score_.disagreements.empty()) score_.first_bad_step = at;
    for (const std::string& text : wrong) {
      score_.disagreements.push_back(fmt::format("step {}, {}: {}{}", at, name_of(on_error), of, text));
    }
  }

  void note(std::size_t at, OnError on_error, const Predicted& model, const Seen& seen) {
    constexpr std::string_view kEnds[] = {"loaded", "failed", "hung", "not started"};
    ++score_.loads;
    ++score_.outcomes[std::string(kEnds[static_cast<std::size_t>(seen.end)])];
    tell(at, on_error, "", differences(model, seen));
  }

  const Bench& bench_;
  const Plan& plan_;
  const std::string& name_;
  Host host_;
  Loader abort_;
  Loader guest_error_;
  ByteVector state_;
  Score score_;
};

}  // namespace

Result<Score> play(const Bench& bench, const Plan& plan, const std::string& name) {
  // The model leaves the process's directory in the share of the case before, which is gone.
  if (::chdir("/") != 0) return fail_errno(errno, "chdir /");
  return Player(bench, plan, name).run();
}

}  // namespace vfsmend::differential
