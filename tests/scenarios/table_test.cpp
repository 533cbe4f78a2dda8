// SPDX-License-Identifier: Apache-2.0
// Every repair of a state that is known to be right (docs/restore.md), in every kind of snapshot: the
// state of a real guest is damaged, `vfsmend repair` mends the snapshot, the state is taken out again
// and the real virtiofsd loads it under the policy for which it was mended. Nothing but the state has
// changed then, a second repair finds nothing, and undone it is what it was.
//
// CubeSandbox's loader is no program that could be asked. Its states are given to virtiofsd in the
// dialect that differs by the empty `fullname` alone, V1, which virtiofsd reads.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <regex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../unit/tools/run_tool.h"
#include "box.h"
#include "daemon/rehearse.h"
#include "manifest/nodemap.h"
#include "repair/state_edit.h"
#include "scenario.h"
#include "snapshot/open.h"
#include "state/codec.h"
#include "support/testbed.h"
#include "table_rows.h"
#include "verdict/destination.h"

namespace vfsmend::test {
namespace {

constexpr std::chrono::seconds kPatience{20};

class RepairTable : public Scenario, public testing::WithParamInterface<std::tuple<Row, BoxKind>> {
 protected:
  void play(const Row& row, BoxKind kind) {
    kind_ = kind;
    row_ = row;
    guest();
    bytes_ = state_bytes();
    auto decoded = decode(bytes_, Reader::kVirtiofsd);
    ASSERT_TRUE(decoded);
    healthy_ = std::move(decoded->state);
    box_.emplace(kind, scratch("box"),
                 fmt::format("{{\"shared_dir\":{},\"read_only\":false,\"announce_submounts\":true,\"cache\":0,"
                             "\"writeback\":{}}}",
                             json_text(share()), row.writeback));
  }

  void guest() {
    write("a", "1");
    write("x", "x");
    write("d/b", "2");
    write("d/e/c", "3");
    for (const char* path : {"a", "x", "d/b"}) look_up(path);
    open("d/e/c", O_RDWR);
    open("a", O_RDONLY);
    if (row_.unlinked) unlink("x");
    pause();
  }

  [[nodiscard]] static std::string json_text(const std::string& text) { return '"' + text + '"'; }

  // In the dialect of the box.
  [[nodiscard]] ByteVector encoded(const Change& change) const {
    State state = healthy_;
    change(state);
    if (is_cube(kind_)) state.mount_paths.clear();
    return encode(state, is_cube(kind_) ? Dialect::kCubeV1 : Dialect::kV2);
  }

  [[nodiscard]] std::vector<std::string> destination(OnError policy) const {
    if (is_cube(kind_)) return {"--profile", policy == OnError::kAbort ? "cube-abort" : "cube-guest-error"};
    std::vector<std::string> out = {"--profile", "virtiofsd", "--sandbox", "none", "--shared-dir", share(),
                                    "--on-error", std::string(vfsmend::name_of(policy))};
    if (row_.writeback) out.emplace_back("--writeback");
    return out;
  }

  // The map of a guest that has a and c open.
  void take_map() {
    NodeMap map;
    for (const auto& [name, path] : {std::pair("a", "a"), std::pair("c", "d/e/c")}) {
      struct stat s {};
      ASSERT_EQ(::lstat(at(path).c_str(), &s), 0);
      NodeMapEntry entry;
      entry.node = inode_at(healthy_, name).id;
      entry.ino = s.st_ino;
      entry.path = path;
      map.entries.push_back(entry);
    }
    std::ofstream(scratch("map")) << node_map_text(map);
  }

  ToolRun tool(std::vector<std::string> command, OnError policy) {
    const std::vector<std::string> to = destination(policy);
    command.insert(command.end(), to.begin(), to.end());
    if (row_.mapped) command.insert(command.end(), {"--nodemap", scratch("map")});
    command.insert(command.end(), {"--format", "json", box_->path()});
    ToolRun run = run_tool(command);
    EXPECT_EQ(run.err, "");
    return run;
  }

  void capture_box() {
    std::vector<std::string> args = {"capture"};
    if (!is_cube(kind_)) args.insert(args.end(), {"--profile", "virtiofsd", "--shared-dir", share()});
    args.push_back(box_->path());
    const ToolRun run = run_tool(args);
    EXPECT_EQ(run.exit, 0) << run.out << run.err;
  }

  [[nodiscard]] ByteVector taken_out() const {
    std::optional<ContainerKind> kind;
    const auto snapshot = open_snapshot(sys::kernel(), box_->path(), {}, kind);
    EXPECT_TRUE(snapshot) << snapshot.error().text;
    if (!snapshot || snapshot->devices.size() != 1) return {};
    return snapshot->devices[0].state.value_or(ByteVector{});
  }

  // What the real daemon makes of a state of the box.
  daemon::Answer load(const ByteVector& bytes, OnError policy) {
    ByteVector state = bytes;
    if (is_cube(kind_)) {
      const auto decoded = decode(bytes, Reader::kCube);
      EXPECT_TRUE(decoded);
      state = encode(decoded->state, Dialect::kV1);
    }
    daemon::VirtiofsdStart how{testbed_program("virtiofsd-1.13.2"),
                               {"--shared-dir", share(), "--sandbox=none", "--seccomp=none", "--log-level=info",
                                fmt::format("--migration-on-error={}", vfsmend::name_of(policy))},
                               scratch("sockets"), false};
    if (row_.writeback) how.args.emplace_back("--writeback");
    auto answer = daemon::rehearse(how, state, sys::Deadline::in(kPatience));
    EXPECT_TRUE(answer) << answer.error().text;
    return answer ? *std::move(answer) : daemon::Answer{};
  }

  [[nodiscard]] static bool loaded(const daemon::Answer& answer) {
    return answer.end == daemon::Answer::End::kLoaded;
  }

  // Stubs are what the policy lets through: as many as the state has Invalid locations.
  void expect_good(const ByteVector& state) {
    const daemon::Answer answer = load(state, row_.policy);
    EXPECT_TRUE(loaded(answer)) << answer.log.load_error.value_or("") << answer.log.other;
    const auto decoded = decode(state, is_cube(kind_) ? Reader::kCube : Reader::kVirtiofsd);
    const auto lost = std::ranges::count_if(
        decoded->state.inodes, [](const Inode& inode) { return location_as<Invalid>(inode) != nullptr; });
    EXPECT_EQ(answer.log.invalid_inodes.size(), static_cast<std::size_t>(lost));
    EXPECT_FALSE(answer.log.invalid_inodes.contains(kRootId));
  }

  // Only the state is another, as if the snapshot's own writer had put it there.
  void expect_only_the_state(const std::map<std::string, Box::Entry>& before, const ByteVector& state) const {
    auto now = box_->content();
    std::erase_if(now, [](const auto& entry) { return entry.first.find(".vfsmend-") != std::string::npos &&
                                                      !entry.first.ends_with("manifest"); });
    ASSERT_EQ(now.size(), before.size());
    for (const auto& [path, entry] : before) {
      if (path == box_->file()) continue;
      EXPECT_EQ(now[path], entry) << path;
    }
    EXPECT_TRUE(now[box_->file()].bytes == box_->bytes_with(state));
    const auto mode_of = [](const Box::Entry& entry) { return entry.stamp.substr(0, entry.stamp.rfind(' ')); };
    EXPECT_EQ(mode_of(now[box_->file()]), mode_of(before.at(box_->file())));
  }

  [[nodiscard]] static std::string journal_of(const std::string& json) {
    std::smatch match;
    EXPECT_TRUE(std::regex_search(json, match, std::regex("\"journal\":\"([^\"]*)\""))) << json;
    return match.empty() ? "" : match[1].str();
  }

  Row row_{};
  BoxKind kind_{};
  ByteVector bytes_;  // that healthy_ borrows
  State healthy_;
  std::optional<Box> box_;
};

TEST_P(RepairTable, IsMendedLoadedAndTakenBack) {
  const auto& [row, kind] = GetParam();
  play(row, kind);
  ByteVector damaged = encoded(row.damage);
  if (row.trailing) damaged.insert(damaged.end(), {1, 2, 3});
  box_->write(damaged);
  if (row.captured) capture_box();
  if (row.mapped) take_map();
  if (*row.host != '\0') sh(fmt::format("cd '{}' && {}", share(), row.host));
  ASSERT_EQ(loaded(load(damaged, row.policy)), !row.fails_before);
  const auto before = box_->content();

  if (std::string(row.mode) == "-y" && !row.partly_safe) {
    const ToolRun refused = tool({"repair", "-p"}, row.policy);
    EXPECT_EQ(refused.exit, 4) << "it costs something: " << refused.out;
    EXPECT_EQ(box_->content(), before);
  }
  const ToolRun repaired = tool({"repair", row.mode}, row.policy);
  ASSERT_EQ(repaired.exit, 1) << repaired.out;
  const ByteVector mended = taken_out();
  EXPECT_EQ(mended, encoded(row.expected));
  expect_only_the_state(before, mended);
  expect_good(mended);

  const auto once = box_->content();
  EXPECT_EQ(tool({"repair", row.mode}, row.policy).exit, 0) << "nothing is left to do";
  EXPECT_EQ(box_->content(), once);
  const ToolRun undone = run_tool({"undo", journal_of(repaired.out)});
  EXPECT_EQ(undone.exit, 0) << undone.out << undone.err;
  EXPECT_EQ(box_->content(), before);
}

INSTANTIATE_TEST_SUITE_P(Rows, RepairTable, testing::Combine(testing::ValuesIn(kRows), testing::ValuesIn(kAllBoxes)),
                         [](const auto& of) {
                           return std::string(std::get<0>(of.param).name) + name_of(std::get<1>(of.param));
                         });

// The rows of the table that a repair goes on from: all locations lost, and the root alone written.
class AllLost : public RepairTable {};

TEST_P(AllLost, AsItIsLoadsDeadUnderGuestErrorOnly) {
  const auto& [row, kind] = GetParam();
  play(row, kind);
  box_->write(encoded(row.damage));
  const auto before = box_->content();
  const daemon::Answer refused = load(taken_out(), OnError::kAbort);
  ASSERT_FALSE(loaded(refused));
  EXPECT_EQ(refused.log.load_error, "Inode 1: Migration source has lost inode 1");
  const daemon::Answer dead = load(taken_out(), OnError::kGuestError);
  ASSERT_TRUE(loaded(dead));
  EXPECT_EQ(dead.log.invalid_inodes.size(), healthy_.inodes.size());
  EXPECT_EQ(dead.log.invalid_handles.size(), healthy_.handles.size());
  for (const OnError policy : {OnError::kAbort, OnError::kGuestError}) {
    const ToolRun said = tool({"check"}, policy);
    EXPECT_EQ(said.exit, 4) << said.out;
    const bool goes_dead = policy == OnError::kGuestError;
    EXPECT_NE(said.out.find(goes_dead ? "\"dead_mount\":true" : "\"outcome\":\"fails\""), std::string::npos);
  }
  EXPECT_EQ(box_->content(), before);
}

TEST_P(AllLost, WithItsRootLoadsUnderGuestErrorAndIsLeftAloneThere) {
  const auto& [row, kind] = GetParam();
  play(row, kind);
  const ByteVector lost = encoded(row.damage);
  auto decoded = decode(lost, is_cube(kind) ? Reader::kCube : Reader::kVirtiofsd);
  ASSERT_TRUE(decoded);
  StateEdit edit(*std::move(decoded));
  ASSERT_TRUE(edit.write_root());
  box_->write(edit.bytes());
  EXPECT_FALSE(loaded(load(taken_out(), OnError::kAbort)));
  const daemon::Answer answer = load(taken_out(), OnError::kGuestError);
  ASSERT_TRUE(loaded(answer));
  EXPECT_EQ(answer.log.invalid_inodes.size(), healthy_.inodes.size() - 1);
  EXPECT_FALSE(answer.log.invalid_inodes.contains(kRootId));
  const auto before = box_->content();
  EXPECT_EQ(tool({"repair", "-y"}, OnError::kGuestError).exit, 0) << "it resumes, with its casualties named";
  EXPECT_EQ(box_->content(), before);
}

// The row between: with the directories in the map too, each below its parent. The real daemon takes
// that as it takes the flat one, which is what a repair writes, since it needs no ids on the way.
TEST_P(AllLost, BelowTheirParentsTheyLoadUnderAbort) {
  const auto& [row, kind] = GetParam();
  play(row, kind);
  auto lost = decode(bytes_, Reader::kVirtiofsd);
  ASSERT_TRUE(lost);
  lose_all(lost->state);
  StateEdit edit(*std::move(lost));
  const NodeId d = inode_at(healthy_, "d").id;
  const NodeId e = inode_at(healthy_, "e").id;
  const NodeId c = inode_at(healthy_, "c").id;
  const NodeId a = inode_at(healthy_, "a").id;
  ASSERT_TRUE(edit.flatten(std::vector<PlacedNode>{{a, "a", 0}, {c, "d/e/c", 0}, {d, "d", 0}, {e, "d/e", 0}}));
  ASSERT_TRUE(edit.rewrite_path(e, "d/e"));
  ASSERT_TRUE(edit.rewrite_path(c, "d/e/c"));
  std::unordered_set<NodeId> unmapped;
  for (const Inode& inode : edit.state().inodes) {
    if (location_as<Invalid>(inode)) unmapped.insert(inode.id);
  }
  ASSERT_TRUE(edit.drop_inodes(unmapped));
  State nested = edit.state();
  EXPECT_EQ(std::get<Path>(inode_at(nested, "e").location).parent, d);
  EXPECT_EQ(std::get<Path>(inode_at(nested, "c").location).parent, e);
  EXPECT_EQ(nested.handles.size(), healthy_.handles.size()) << "nothing that is open is lost";
  const ByteVector state = encode(nested, is_cube(kind_) ? Dialect::kCubeV1 : Dialect::kV2);
  box_->write(state);
  EXPECT_EQ(taken_out(), state);
  expect_good(state);
}

INSTANTIATE_TEST_SUITE_P(Rows, AllLost,
                         testing::Combine(testing::Values(Row{.name = "AllLost", .damage = lose_all}),
                                          testing::ValuesIn(kAllBoxes)),
                         [](const auto& of) { return name_of(std::get<1>(of.param)); });

}  // namespace
}  // namespace vfsmend::test
