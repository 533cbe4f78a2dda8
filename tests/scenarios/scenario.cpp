// SPDX-License-Identifier: Apache-2.0
#include "scenario.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <rapidjson/document.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "../unit/tools/run_tool.h"
#include "daemon/migrate.h"
#include "state/codec.h"
#include "support/json_schema.h"
#include "support/testbed.h"
#include "sys/xattrs.h"

namespace vfsmend::test {
namespace {

constexpr std::chrono::seconds kPatience{20};
const char* const kProgram = "virtiofsd-1.13.2";

template <typename T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().text;
    return T{};
  }
  return *std::move(result);
}

std::string line_of(const std::filesystem::path& path) {
  struct stat s {};
  if (::lstat(path.c_str(), &s) != 0) return path.string() + " gone\n";
  sys::Xattrs xattrs;
  EXPECT_EQ(sys::read_xattrs(sys::kernel(), AT_FDCWD, path.c_str(), xattrs), 0);
  std::string line = fmt::format("{} {:o} {} {} {} {} {}.{} {}.{} {}.{}", path.string(), s.st_mode,
                                 s.st_ino, s.st_nlink, s.st_size, s.st_uid, s.st_atim.tv_sec,
                                 s.st_atim.tv_nsec, s.st_mtim.tv_sec, s.st_mtim.tv_nsec,
                                 s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
  for (const auto& [name, value] : xattrs) line += fmt::format(" {}={}", name, value);
  return line + "\n";
}

}  // namespace

std::string fingerprint(const std::string& directory) {
  std::vector<std::string> lines;
  std::vector<std::filesystem::path> all = {directory};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    all.push_back(entry.path());
  }
  for (const auto& path : all) lines.push_back(line_of(path));
  std::ranges::sort(lines);
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

std::string Said::codes() const {
  std::string out;
  for (const auto& [code, count] : counts) {
    for (int i = 0; i < count; ++i) out += (out.empty() ? "" : " ") + code;
  }
  return out;
}

void Scenario::SetUp() {
  const std::string why_not = why_no_testbed(kProgram);
  if (!why_not.empty()) GTEST_SKIP() << why_not;
  share_ = dir_ / "S";
  std::filesystem::create_directories(share_);
  std::filesystem::create_directories(dir_ / "sockets");
  snapshot_ = dir_ / "snapshot";
}

void Scenario::TearDown() {
  session_.reset();
  daemon_.reset();
}

std::string Scenario::at(std::string_view name) const { return share_ + "/" + std::string(name); }

void Scenario::write(std::string_view name, std::string_view bytes) const {
  const std::filesystem::path path = at(name);
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void Scenario::start_daemon(std::vector<std::string> switches) {
  daemon::VirtiofsdStart how{testbed_program(kProgram),
                             {"--shared-dir", share_, "--sandbox=none", "--seccomp=none"},
                             dir_ / "sockets", false};
  how.args.insert(how.args.end(), switches.begin(), switches.end());
  auto started = daemon::Virtiofsd::start(how);
  ASSERT_TRUE(started) << started.error().text;
  daemon_.emplace(*std::move(started));
  const std::uint64_t features =
      must(daemon::greet(daemon_->wire(), sys::Deadline::in(kPatience)));
  auto session = daemon::FuseSession::start(daemon_->wire(), features, {false, true, false}, kPatience);
  ASSERT_TRUE(session) << session.error().text;
  session_.emplace(*std::move(session));
  known_ = {{"", kRootId}};
}

NodeId Scenario::look_up(std::string_view path) {
  if (!session_) start_daemon();
  if (const auto known = known_.find(std::string(path)); known != known_.end()) return known->second;
  const std::size_t slash = path.rfind('/');
  const std::string_view above = slash == std::string_view::npos ? "" : path.substr(0, slash);
  const NodeId parent = look_up(above);
  const NodeId node = must(session_->lookup(parent, path.substr(slash + 1))).node;
  known_[std::string(path)] = node;
  return node;
}

HandleId Scenario::open(std::string_view path, std::int32_t flags) {
  const NodeId node = look_up(path);
  return must(session_->open(node, flags));
}

HandleId Scenario::create(std::string_view name, std::int32_t flags) {
  if (!session_) start_daemon();
  const auto created = must(session_->create(kRootId, name, flags | O_CREAT, 0644));
  known_[std::string(name)] = created.looked.node;
  return created.handle;
}

void Scenario::unlink(std::string_view name) {
  if (!session_) start_daemon();
  const auto done = session_->unlink(kRootId, name);
  EXPECT_TRUE(done) << done.error().text;
}

pid_t Scenario::pause_and_keep_daemon() {
  if (!session_) start_daemon();
  EXPECT_TRUE(session_->stop());
  const ByteVector state = must(daemon::save_state(daemon_->wire(), sys::Deadline::in(kPatience)));
  dir_.write("snapshot", state);
  session_.reset();
  return daemon_->pid();
}

void Scenario::pause() {
  pause_and_keep_daemon();
  end_daemon();
}

std::string Scenario::capture(std::vector<std::string> more) {
  std::vector<std::string> args = {"capture", "--profile", "virtiofsd", "--shared-dir", share_,
                                   "--format", "json"};
  args.insert(args.end(), more.begin(), more.end());
  args.push_back(snapshot_);
  const std::string before = fingerprint(share_);
  const ToolRun run = run_tool(args);
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_EQ(JsonSchema("report.schema.json").complaint(run.out), "");
  EXPECT_EQ(fingerprint(share_), before) << "a capture changes nothing";
  return run.out;
}

Said Scenario::check_once(const std::vector<std::string>& more) { return run("check", more); }

Said Scenario::repair(const std::string& mode, std::vector<std::string> more) {
  more.push_back(mode);
  return run("repair", more);
}

int Scenario::undo(const std::string& journal, std::vector<std::string> more) {
  more.insert(more.begin(), "undo");
  more.push_back(journal);
  return run_tool(more).exit;
}

int Scenario::run_vfsmend(const std::vector<std::string>& args) {
  const ToolRun run = run_tool(args);
  EXPECT_EQ(run.err, "");
  return run.exit;
}

int Scenario::rehearse() {
  const ToolRun run = run_tool({"rehearse", "--virtiofsd", testbed_program(kProgram), "--sandbox", "none",
                                "--shared-dir", share_, snapshot_});
  EXPECT_EQ(run.exit, 0) << run.out;
  return run.exit;
}

// The original under its name: an undo gives back the very file.
std::string Scenario::fingerprint_of_snapshot() const {
  struct stat s {};
  EXPECT_EQ(::stat(snapshot_.c_str(), &s), 0);
  return fmt::format("{} {:o} {} {}.{}", s.st_ino, s.st_mode, s.st_uid, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
}

Said Scenario::run(const std::string& command, const std::vector<std::string>& more) {
  std::vector<std::string> args = {command, "--profile", "virtiofsd", "--sandbox", "none",
                                   "--shared-dir", share_, "--format", "json"};
  args.insert(args.end(), more.begin(), more.end());
  args.push_back(snapshot_);
  const ToolRun tool = run_tool(args);
  EXPECT_EQ(tool.err, "");
  EXPECT_EQ(JsonSchema("report.schema.json").complaint(tool.out), "") << tool.out;
  Said said;
  said.exit = tool.exit;
  said.json = std::regex_replace(tool.out, std::regex("\"timing_us\":\\{[^}]*\\}"), "");
  rapidjson::Document json;
  json.Parse(tool.out.c_str());
  if (json.HasParseError()) return said;
  said.verdict = json["verdict"].GetString();
  if (json.HasMember("repair") && json["repair"]["journal"].IsString()) {
    said.journal = json["repair"]["journal"].GetString();
  }
  for (const auto& count : json["counts"].GetObject()) {
    said.counts[count.name.GetString()] = count.value.GetInt();
  }
  return said;
}

Said Scenario::check(std::vector<std::string> more) {
  const bool there = std::filesystem::exists(share_);
  const std::string before = there ? fingerprint(share_) : "";
  Said first = check_once(more);
  const Said second = check_once(more);
  EXPECT_EQ(there ? fingerprint(share_) : "", before) << "a check changes nothing";
  EXPECT_EQ(first.json, second.json) << "a second run says the same";
  return first;
}

Said Scenario::check_guest_error(std::vector<std::string> more) {
  more.insert(more.end(), {"--on-error", "guest-error"});
  return check(std::move(more));
}

ByteVector Scenario::state_bytes() const { return read_bytes(snapshot_); }

void Scenario::rewrite_path(std::string_view from, std::string_view to) {
  const ByteVector bytes = state_bytes();
  auto decoded = decode(bytes, Reader::kVirtiofsd);
  ASSERT_TRUE(decoded);
  const NodeId node = known_.at(std::string(from));
  for (Inode& inode : decoded->state.inodes) {
    if (auto* path = std::get_if<Path>(&inode.location); path && inode.id == node) path->filename = to;
  }
  dir_.write("snapshot", encode(decoded->state, decoded->dialect));
}

void Scenario::sh(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(concurrency-mt-unsafe)
}

void Scenario::private_mounts() {
  ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
  ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
}

std::string Scenario::mount_ext4(const std::string& name) {
  const std::string image = scratch(name + ".img");
  const std::string directory = scratch(name);
  if (!std::filesystem::exists(image)) {
    sh(fmt::format("truncate --size 64M '{0}' && /sbin/mkfs.ext4 -q '{0}'", image));
  }
  sh(fmt::format("mkdir -p '{0}' && mount -o loop '{1}' '{0}'", directory, image));
  return directory;
}

}  // namespace vfsmend::test
