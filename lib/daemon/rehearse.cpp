// SPDX-License-Identifier: Apache-2.0
#include "daemon/rehearse.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "daemon/migrate.h"

namespace vfsmend::daemon {
namespace {

// The bit of O_TMPFILE that is not O_DIRECTORY.
constexpr std::int32_t kTmpfileBit = O_TMPFILE & ~O_DIRECTORY;
constexpr std::chrono::seconds kEndsWithin{2};  // a daemon whose connection broke

Result<Answer> not_started(Virtiofsd& daemon, Error error) {
  if (error.code == ErrorCode::kTimeout || !daemon.ended(sys::Deadline::in(kEndsWithin))) {
    return tl::make_unexpected(std::move(error));
  }
  std::uint64_t from = 0;
  VFSMEND_TRY_ASSIGN(const std::string text, daemon.log(from));
  Answer answer;
  answer.end = Answer::End::kNotStarted;
  answer.log = parse_log(text);
  return answer;
}

}  // namespace

Result<Answer> rehearse(const VirtiofsdStart& how, Bytes state, sys::Deadline answer_by) {
  VFSMEND_TRY_ASSIGN(auto daemon, Virtiofsd::start(how));
  auto greeted = greet(daemon.wire(), answer_by);
  if (!greeted) return not_started(daemon, std::move(greeted.error()));
  auto loaded = load_state(daemon.wire(), state, answer_by);
  Answer answer;
  if (!loaded && loaded.error().code == ErrorCode::kTimeout) {
    answer.end = Answer::End::kHung;
    return answer;
  }
  if (!loaded) return tl::make_unexpected(daemon.explain(std::move(loaded.error())));
  std::uint64_t from = 0;
  VFSMEND_TRY_ASSIGN(const std::string text, daemon.log(from));
  answer.end = loaded->loaded ? Answer::End::kLoaded : Answer::End::kFailed;
  answer.log = parse_log(text);
  answer.load = loaded->took;
  return answer;
}

std::optional<std::string> harm_of(const State& state) {
  constexpr std::array<std::pair<std::int32_t, std::string_view>, 3> kHarmful = {
      {{O_TRUNC, "O_TRUNC: it would be cut to nothing"},
       {O_CREAT, "O_CREAT: a file might be made"},
       {kTmpfileBit, "O_TMPFILE: a file would be made"}}};
  for (const Handle& handle : state.handles) {
    for (const auto& [bit, harm] : kHarmful) {
      if ((handle.flags & bit) == 0) continue;
      return fmt::format("handle {} on inode {} has {}", handle.id, handle.inode, harm);
    }
  }
  return std::nullopt;
}

}  // namespace vfsmend::daemon
