// SPDX-License-Identifier: Apache-2.0
// A repair that changes the state and objects of the share, and is cut short or refused at each change:
// what was taken back is as before, and what was not is taken back by undo, or mended by another run.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "../unit/tools/run_tool.h"
#include "base/text.h"
#include "failing_changes.h"
#include "manifest/manifest_file.h"
#include "repair/apply.h"
#include "support/host_facts.h"
#include "support/state_builder.h"
#include "support/temp_dir.h"
#include "sys/atomic_file.h"
#include "verdict/hidden_file.h"

namespace vfsmend::test {
namespace {

namespace fs = std::filesystem;

const Progress kSilent = [](std::string_view) {};
constexpr const char* kObjects[] = {"a", "d", "d/b"};

class HostCrash : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "a repair on the host needs root";
    for (const char* file : {"share/a", "share/d/b"}) dir_.write(file, "content");
    fs::create_directory(dir_ / "snap");
    const State state = state_of({root(4), at(2, 1, "a"), at(3, 1, "d", 2), at(4, 3, "b"), lost(5)}, {{0, 5, O_RDWR}});
    request_.check.snapshot_path = dir_.write("snap/state", encode(state, Dialect::kV2));
    request_.check.shares = {{"", dir_ / "share"}};
    request_.check.profile = Profile::kVirtiofsd;
    request_.check.switches.sandbox = Sandbox::kNone;
    request_.check.given = {"sandbox"};
    capture();
    captured_ = facts();
    ASSERT_EQ(::chmod((dir_ / "share/a").c_str(), 0), 0);
    ASSERT_EQ(::chown((dir_ / "share/d").c_str(), 77, 88), 0);
    ASSERT_EQ(::setxattr((dir_ / "share/d/b").c_str(), "user.new", "x", 1, 0), 0);
    ASSERT_EQ(::chmod((dir_ / "share/d/b").c_str(), 0777), 0);
    for (const char* name : kObjects) broken_[name] = facts_of(name);
    start_ = facts();
    state_ = read_text(dir_ / "snap/state");
  }

  // With a kept file for inode 5, as a capture beside the daemon makes it.
  void capture() {
    const ToolRun run = run_tool({"capture", "--profile", "virtiofsd", "--shared-dir", dir_ / "share",
                                  request_.check.snapshot_path});
    ASSERT_EQ(run.exit, 0) << run.out << run.err;
    const std::string file = request_.check.snapshot_path + ".vfsmend-manifest";
    auto manifest = decode_manifest(as_bytes(read_text(file)));
    ASSERT_TRUE(manifest) << manifest.error().text;
    const std::string content = "what only the guest had";
    ContentHasher hasher;
    hasher.add(as_bytes(content));
    ObjectFacts kept;
    kept.ino = 99;
    kept.mode = 0640;
    kept.uid = 7;
    kept.gid = 8;
    kept.mtime = 1'000'000'000'000'000'007;
    kept.size = content.size();
    manifest->sections[0].facts.emplace_back("kept", kept_fact(5, kept, hasher.hash()));
    const auto bytes = encode_manifest(*manifest);
    ASSERT_TRUE(bytes);
    ASSERT_TRUE(sys::replace_file(sys::kernel_changes(), file, as_text(*bytes), sys::FileMode::kPrivate));
    dir_.write("snap/" + kept_path("state.vfsmend-manifest", 99, hasher.hash()), content);
  }

  [[nodiscard]] std::string facts() const { return host_facts(dir_ / "share"); }
  [[nodiscard]] HostFacts facts_of(const char* name) const {
    const sys::UniqueFd share(::open((dir_ / "share").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto object = open_object(sys::kernel(), share.get(), name);
    EXPECT_TRUE(object) << object.error().text;
    return object ? object->facts : HostFacts();
  }

  RepairResult repair(sys::Changes& changes = sys::kernel_changes()) const {
    auto done = repair_snapshot(sys::kernel(), changes, request_, kSilent);
    EXPECT_TRUE(done) << done.error().text;
    return done ? *std::move(done) : RepairResult();
  }

  // All journals, the newest first.
  void undo_all() const {
    std::vector<std::string> journals;
    for (const auto& entry : fs::directory_iterator(dir_ / "snap")) {
      const std::string path = entry.path();
      const std::size_t at = path.rfind(".vfsmend-journal");
      if (at != std::string::npos && path.find('.', at + 1) == std::string::npos) journals.push_back(path);
    }
    std::ranges::sort(journals, std::greater());
    for (const std::string& journal : journals) {
      const auto undone = undo_repair(sys::kernel(), sys::kernel_changes(), {journal}, kSilent);
      EXPECT_TRUE(undone) << undone.error().text << "\n" << journal << "\n" << read_text(journal);
    }
  }

  // What a cut leaves beside the snapshot is a draft, FILE.xxxxxx, at most.
  void expect_start() const {
    EXPECT_EQ(facts(), start_);
    EXPECT_EQ(read_text(dir_ / "snap/state"), state_);
    for (const auto& entry : fs::directory_iterator(dir_ / "snap")) {
      const std::string path = entry.path();
      const std::string end = path.substr(path.rfind('.') + 1);
      if (path.find("manifest") != std::string::npos || path == dir_ / "snap/state") continue;
      EXPECT_TRUE(end.size() == 6 && end.find_first_not_of("0123456789abcdef") == std::string::npos) << path;
      fs::remove(path);
    }
  }

  // As if some of what was changed of the objects had never reached the disk.
  void lose(unsigned which) const {
    const sys::UniqueFd share(::open((dir_ / "share").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (unsigned i = 0; i < std::size(kObjects); ++i) {
      if ((which >> i & 1) == 0) continue;
      const auto object = open_object(sys::kernel(), share.get(), kObjects[i]);
      ASSERT_TRUE(object);
      ASSERT_TRUE(put_back(sys::kernel(), sys::kernel_changes(), *object, broken_.at(kObjects[i])));
    }
  }

  TempDir dir_;
  RepairRequest request_;
  std::string captured_;
  std::string start_;
  std::string state_;
  std::map<std::string, HostFacts> broken_;
};

TEST_F(HostCrash, NothingInTheWay) {
  const RepairResult done = repair();
  EXPECT_EQ(done.after.verdict, Verdict::kResume) << done.reason;
  EXPECT_NE(read_text(dir_ / "snap/state"), state_);
  for (const char* name : kObjects) EXPECT_NE(facts_of(name), broken_.at(name));
  const RepairResult again = repair();
  EXPECT_FALSE(again.changed);
  undo_all();
  expect_start();
}

TEST_F(HostCrash, EachChangeFails) {
  int runs = 0;
  for (const int err : {ENOSPC, EROFS, EPERM, EIO}) {
    for (int nth = 1;; ++nth, ++runs) {
      SCOPED_TRACE(fmt::format("change {} fails with {}", nth, err));
      FailingChanges failing(nth, err, false, sys::kernel_changes());
      const RepairResult done = repair(failing);
      const bool whole = failing.never();
      // Some have another way: a file system without O_TMPFILE.
      EXPECT_TRUE(!done.reason.empty() || done.after.verdict == Verdict::kResume);
      EXPECT_TRUE(!whole || done.reason.empty()) << done.reason;
      if (done.journal.empty()) expect_start();
      undo_all();
      expect_start();
      if (whole || HasFailure()) break;
    }
  }
  std::cout << "runs with an error: " << runs << '\n';
  EXPECT_GE(runs, 4 * 20);
}

// All changes from the n-th on do not happen, the way back among them; and of those before it, objects
// of the share may have lost theirs.
TEST_F(HostCrash, CutAtEachChange) {
  int runs = 0;
  for (int nth = 1;; ++nth) {
    bool whole = false;
    for (unsigned lost = 0; lost < 1U << std::size(kObjects); ++lost, ++runs) {
      SCOPED_TRACE(fmt::format("cut at change {}, lost {:03b}", nth, lost));
      for (const bool run_again : {false, true}) {
        FailingChanges failing(nth, EIO, true, sys::kernel_changes());
        static_cast<void>(repair(failing));
        whole = failing.never();
        lose(lost);
        if (run_again) {
          const RepairResult again = repair();
          EXPECT_EQ(again.after.verdict, Verdict::kResume) << again.reason;
        }
        undo_all();
        expect_start();
        if (HasFailure()) return;
      }
    }
    if (whole) break;
  }
  std::cout << "disks looked at: " << 2 * runs << '\n';
  EXPECT_GE(runs, 20 * 8);
}

TEST_F(HostCrash, AnUndoingThatIsCutIsDoneByTheNext) {
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE(fmt::format("cut at change {}", nth));
    const RepairResult done = repair();
    ASSERT_TRUE(done.changed) << done.reason;
    FailingChanges failing(nth, EIO, true, sys::kernel_changes());
    static_cast<void>(undo_repair(sys::kernel(), failing, {done.journal}, kSilent));
    undo_all();
    expect_start();
    if (failing.never() || HasFailure()) break;
  }
}

}  // namespace
}  // namespace vfsmend::test
