// SPDX-License-Identifier: Apache-2.0
// A tenant's tree against a repair on the host: links, FIFOs, other names of outside files, and a
// thread that swaps names all the time. Whatever stands where: nothing outside of the share changes.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "manifest/capture.h"
#include "repair/host_apply.h"
#include "repair/host_plan.h"
#include "support/forwarding_changes.h"
#include "support/state_builder.h"
#include "support/temp_dir.h"

namespace vfsmend::test {
namespace {

namespace fs = std::filesystem;

// Whatever a change of an object moves.
std::string stamp(const std::string& path) {
  struct stat s {};
  EXPECT_EQ(::lstat(path.c_str(), &s), 0) << path;
  return fmt::format("{:o} {} {} {} {}.{} {}.{}", s.st_mode, s.st_uid, s.st_gid, s.st_nlink, s.st_mtim.tv_sec,
                     s.st_mtim.tv_nsec, s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
}

// Sees which object each change is made to.
class WatchedChanges : public ForwardingChanges {
 public:
  explicit WatchedChanges(ino_t allowed) : allowed_(allowed) {}
  int chmod(int fd, mode_t mode) override { return look(fd), next_.chmod(fd, mode); }
  int chown(int fd, uid_t owner, gid_t group) override { return look(fd), next_.chown(fd, owner, group); }
  int set_times(int fd, std::optional<std::int64_t> atime, std::optional<std::int64_t> mtime) override {
    return look(fd), next_.set_times(fd, atime, mtime);
  }
  [[nodiscard]] int changes() const { return changes_; }
  [[nodiscard]] int others() const { return others_; }

 private:
  void look(int fd) {
    struct stat s {};
    ++changes_;
    if (::fstat(fd, &s) != 0 || s.st_ino != allowed_) ++others_;
  }

  ino_t allowed_;
  int changes_ = 0;
  int others_ = 0;
};

class HostileTree : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "a repair on the host needs root";
    dir_.write("share/d/f", "the guest's");
    dir_.write("outside/f", "not the guest's");
    const CaptureInput input{sys::kernel(), dir_ / "share", "", nullptr, {}, true, HashScope::kNone, 0, {}};
    auto captured = capture_share(input);
    ASSERT_TRUE(captured);
    section_ = std::move(captured->section);
    destination_ = virtiofsd();
    destination_.shared_dir = dir_ / "share";
    outside_ = outside();
  }

  [[nodiscard]] std::string at(std::string_view name) const { return dir_ / name; }
  [[nodiscard]] std::string outside() const {
    return stamp(at("outside")) + stamp(at("outside/f")) + stamp(at("share"));
  }

  // What a check would find of d/f: mode, owner and times.
  [[nodiscard]] std::vector<Finding> findings() const {
    std::vector<Finding> out;
    for (const Mend mend : {Mend::kHostMode, Mend::kHostOwner, Mend::kHostTimes}) {
      Finding f;
      f.verdict = Verdict::kRepair;
      f.path = "d/f";
      f.repair = Remedy{"", true, {}, mend};
      f.repair->recorded = position("d/f");
      out.push_back(std::move(f));
    }
    return out;
  }

  [[nodiscard]] std::uint32_t position(const std::string& path) const {
    for (std::uint32_t i = 0; i < section_.entries.size_of(); ++i) {
      if (path_of(section_.entries, i) == path) return i;
    }
    ADD_FAILURE() << path;
    return 0;
  }

  // A repair and its undo, as far as they go. True where both were made.
  bool repair_and_undo(sys::Changes& changes = sys::kernel_changes()) {
    const SnapshotDevice device;
    DeviceInput input{sys::kernel(), device, ContainerKind::kRaw, destination_};
    input.recorded = &section_;
    input.options = &options_;
    HostPlanner planner(input);
    std::size_t taken = 0;
    for (const Finding& finding : findings()) taken += planner.add(finding).empty() ? 1 : 0;
    const HostPlan plan = planner.take();
    if (taken == 0) return false;
    const HostTools tools{sys::kernel(), changes, plan.share.get()};
    const bool applied = apply_host(tools, plan.work).has_value();
    return take_back_all(tools, plan.work).empty() && applied;
  }

  TempDir dir_;
  ManifestSection section_;
  Destination destination_;
  RecordOptions options_;
  std::string outside_;
};

void swap_names(const std::string& a, const std::string& b) {
  static_cast<void>(::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE));
}

TEST_F(HostileTree, IsMendedWhereNobodyInterferes) {
  fs::permissions(at("share/d/f"), fs::perms::none);
  EXPECT_TRUE(repair_and_undo());
  EXPECT_EQ(outside(), outside_);
}

// Each of these stands where the captured file was. The names of outside are made before it is looked at.
TEST_F(HostileTree, OtherObjectsAreLeftAlone) {
  const auto place = [&](auto make) {
    fs::remove_all(at("share/d"));
    fs::create_directory(at("share/d"));
    make(at("share/d/f"));
    const std::string before = outside();
    EXPECT_FALSE(repair_and_undo());
    EXPECT_EQ(outside(), before);
  };
  place([&](const std::string& path) { fs::create_symlink(at("outside/f"), path); });
  place([&](const std::string& path) { fs::create_hard_link(at("outside/f"), path); });
  place([&](const std::string& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); });
  place([&](const std::string& path) { ASSERT_EQ(::mknod(path.c_str(), S_IFCHR | 0600, 0), 0); });
  place([&](const std::string& path) { dir_.write("share/d/f", "made anew: " + path); });
  place([&](const std::string& path) { fs::create_directory(path); });
  place([&](const std::string&) {
    fs::remove_all(at("share/d"));
    fs::create_directory_symlink(at("outside"), at("share/d"));
  });
}

// The file itself got a name outside: somebody else's now.
TEST_F(HostileTree, FileThatGotAnotherNameIsLeftAlone) {
  fs::permissions(at("share/d/f"), fs::perms::none);
  fs::create_hard_link(at("share/d/f"), at("outside/linked"));
  const std::string before = stamp(at("outside/linked"));
  EXPECT_FALSE(repair_and_undo());
  EXPECT_EQ(stamp(at("outside/linked")), before);
}

TEST_F(HostileTree, TenThousandRoundsAgainstAThreadThatSwapsNames) {
  constexpr int kRounds = 10'000;
  fs::permissions(at("share/d/f"), fs::perms::none);
  fs::create_directory_symlink(at("outside"), at("share/link"));       // to be swapped with d
  fs::create_symlink(at("outside/f"), at("share/d/link"));             // with d/f
  fs::create_hard_link(at("outside/f"), at("share/d/hard"));
  ASSERT_EQ(::mkfifo(at("share/d/fifo").c_str(), 0600), 0);
  const std::string before = stamp(at("outside"));  // that of outside/f moves with its other name
  struct stat captured {};
  ASSERT_EQ(::lstat(at("share/d/f").c_str(), &captured), 0);
  WatchedChanges watched(captured.st_ino);
  std::atomic<bool> end{false};
  std::atomic<std::uint64_t> swaps{0};
  std::thread tenant([&] {
    const std::pair<std::string, std::string> pairs[] = {
        {at("share/d"), at("share/link")}, {at("share/d/f"), at("share/d/link")},
        {at("share/d/f"), at("share/d/hard")}, {at("share/d/f"), at("share/d/fifo")}};
    while (!end) {
      for (const auto& [a, b] : pairs) {
        swap_names(a, b);
        ++swaps;
        swap_names(a, b);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  int made = 0;
  for (int round = 0; round < kRounds; ++round) made += repair_and_undo(watched) ? 1 : 0;
  end = true;
  tenant.join();
  EXPECT_EQ(stamp(at("outside")), before);
  EXPECT_EQ(watched.others(), 0) << "of " << watched.changes() << " changes";
  EXPECT_GT(made, 0) << "some rounds find the file where it was";
  EXPECT_LT(made, kRounds) << "and some do not";
  EXPECT_GT(swaps.load(), 100U);
  RecordProperty("made", made);
}

}  // namespace
}  // namespace vfsmend::test
