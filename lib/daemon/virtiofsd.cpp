// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtiofsd.h"

#include <fmt/format.h>

#include "base/text.h"
#include "sys/shared_memory.h"
#include "sys/stream_socket.h"

namespace vfsmend::daemon {
namespace {

constexpr std::uint64_t kMaxLog = 64U << 20;
constexpr int kListenerThere = 3;  // its number in the daemon, next to the standard streams

// The last lines of `text`, at most `limit` bytes of them.
std::string_view tail(std::string_view text, std::size_t limit) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() <= limit) return text;
  text.remove_prefix(text.size() - limit);
  const std::size_t line = text.find('\n');
  return line == std::string_view::npos ? text : text.substr(line + 1);
}

}  // namespace

Result<Virtiofsd> Virtiofsd::start(const VirtiofsdStart& how) {
  VFSMEND_TRY_ASSIGN(auto connection, sys::waiting_connection(how.socket_directory + "/socket"));
  VFSMEND_TRY_ASSIGN(auto log, sys::memory_file("virtiofsd-log"));
  sys::ProgramStart program;
  program.words = {how.program, "--fd", std::to_string(kListenerThere)};
  program.words.insert(program.words.end(), how.args.begin(), how.args.end());
  program.descriptors = {{connection.listener.get(), kListenerThere}, {log.get(), 1}, {log.get(), 2}};
  program.own_pid_namespace = how.own_pid_namespace;
  VFSMEND_TRY_ASSIGN(auto process, sys::ChildProcess::start(program));
  return Virtiofsd(std::move(process), VhostUser(std::move(connection.ours)), std::move(log));
}

Result<std::string> Virtiofsd::log(std::uint64_t& from) const {
  VFSMEND_TRY_ASSIGN(std::string text, sys::read_memory_file(log_.get(), kMaxLog));
  const std::uint64_t begin = std::min<std::uint64_t>(from, text.size());
  from = text.size();
  text.erase(0, begin);
  return text;
}

std::optional<std::string> Virtiofsd::ended(sys::Deadline deadline) {
  const std::optional<int> status = process_.wait(deadline);
  if (!status) return std::nullopt;
  return sys::describe_end(*status);
}

Error Virtiofsd::explain(Error error) {
  if (error.code == ErrorCode::kTimeout) return error;
  // A connection that broke is mostly a daemon that died, and that takes it a moment.
  const auto end = ended(sys::Deadline::in(std::chrono::milliseconds(500)));
  if (!end) return error;
  std::uint64_t from = 0;
  const auto said = log(from);
  const DaemonLog parsed = parse_log(said ? *said : "");
  error.text = fmt::format("virtiofsd has ended ({}) at {}", *end, error.text);
  if (!parsed.other.empty()) error.text += fmt::format(": {}", printable(tail(parsed.other, 600)));
  return error;
}

Result<std::string> version_of(const std::string& program, sys::Deadline deadline) {
  VFSMEND_TRY_ASSIGN(auto out, sys::memory_file("virtiofsd-version"));
  sys::ProgramStart start;
  start.words = {program, "--version"};
  start.descriptors = {{out.get(), 1}};
  VFSMEND_TRY_ASSIGN(auto process, sys::ChildProcess::start(start));
  if (!process.wait(deadline)) {
    return fail(ErrorCode::kTimeout, fmt::format("{} --version: no answer in time", program));
  }
  VFSMEND_TRY_ASSIGN(const std::string text, sys::read_memory_file(out.get(), 1U << 16));
  constexpr std::string_view kName = "virtiofsd ";
  const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
  if (!line.starts_with(kName)) {
    return fail(ErrorCode::kFormat, fmt::format("{} --version: \"{}\" is not what virtiofsd says",
                                                program, printable(line)));
  }
  return std::string(line.substr(kName.size()));
}

}  // namespace vfsmend::daemon
