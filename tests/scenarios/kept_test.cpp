// SPDX-License-Identifier: Apache-2.0
// Bytes that a capture kept of files without a name: found from another mount namespace too, where the
// path of the snapshot leads elsewhere, and never those of another capture.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "../unit/tools/run_tool.h"
#include "scenario.h"
#include "support/forwarding_changes.h"
#include "support/host_facts.h"
#include "sys/unique_fd.h"

namespace vfsmend::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFirst = "what only the guest had";
constexpr const char* kLater = "WHAT ONLY THE GUEST HAD";  // as long

// A process in a mount namespace of its own, where each of `hidden` is an empty directory.
class Elsewhere {
 public:
  explicit Elsewhere(const std::vector<std::string>& hidden) {
    std::array<int, 2> ready{};
    EXPECT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
    const sys::UniqueFd reading(ready[0]);
    sys::UniqueFd writing(ready[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      bool good = ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
      for (const std::string& path : hidden) {
        good = good && ::mount("elsewhere", path.c_str(), "tmpfs", 0, "mode=0700") == 0;
      }
      if (good && ::write(writing.get(), "g", 1) == 1) ::pause();
      ::_exit(1);
    }
    writing.reset();
    char answer = 0;
    EXPECT_EQ(::read(reading.get(), &answer, 1), 1) << "no mount namespace";
  }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;
  ~Elsewhere() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] std::string pid() const { return std::to_string(pid_); }
  // The path of what has this path there.
  [[nodiscard]] std::string seen(const std::string& path) const { return fmt::format("/proc/{}/root{}", pid_, path); }

 private:
  pid_t pid_ = -1;
};

// Ends before a manifest gets its name: by an error, or at once.
class NoManifest final : public ForwardingChanges {
 public:
  explicit NoManifest(int err) : err_(err) {}

  int rename(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) override {
    if (!std::string_view(to).ends_with("manifest")) return next_.rename(from_dir, from, to_dir, to, flags);
    if (err_ == 0) ::raise(SIGKILL);
    return -err_;
  }

 private:
  int err_;
};

class Kept : public Scenario {
 protected:
  void SetUp() override {
    Scenario::SetUp();
    set_share(elsewhere_ / "S");
    fs::create_directories(share());
  }

  // A guest with a file that has no name any more; the daemon is paused, and stays.
  void pause_with_unlinked() {
    create("t.tmp", O_RDWR);
    write("t.tmp", kFirst);
    unlink("t.tmp");
    daemon_pid_ = pause_and_keep_daemon();
  }

  // As a guest would that ran on: the file is the same, and has other bytes.
  void write_unlinked(std::string_view bytes) const {
    for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", daemon_pid_))) {
      std::error_code gone;
      if (!fs::read_symlink(entry.path(), gone).string().ends_with("t.tmp (deleted)")) continue;
      const sys::UniqueFd fd(::open(entry.path().c_str(), O_WRONLY | O_CLOEXEC));
      ASSERT_TRUE(fd.valid());
      ASSERT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
      return;
    }
    FAIL() << "the daemon has no such file";
  }

  std::string keep(std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--daemon-pid", std::to_string(daemon_pid_), "--keep-unlinked"});
    return capture(std::move(more));
  }

  // A capture that does not come to its manifest.
  void keep_in_vain(int err) const {
    NoManifest changes(err);
    ToolWorld world;
    world.changes = &changes;
    EXPECT_EQ(run_tool({"capture", "--profile", "virtiofsd", "--shared-dir", share(), "--daemon-pid",
                        std::to_string(daemon_pid_), "--keep-unlinked", snapshot()}, world).exit, 8);
  }

  [[nodiscard]] std::string folder() const { return fs::path(snapshot()).parent_path(); }
  [[nodiscard]] std::vector<std::string> kept_files() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder())) {
      if (entry.path().string().find(".kept-") != std::string::npos) out.push_back(entry.path());
    }
    std::ranges::sort(out);
    return out;
  }
  // Of the only file of the share.
  [[nodiscard]] std::string hidden() const {
    const fs::directory_iterator at(share());
    return at == fs::directory_iterator() ? "" : read_text(at->path());
  }

  // A repair lays these bytes, and an undo takes them away. `there`: where the share is looked at.
  void expect_laid(std::string_view bytes, const Elsewhere* there = nullptr,
                   const std::vector<std::string>& manifest = {}) {
    const std::vector<std::string> where = there == nullptr ? std::vector<std::string>()
                                                            : std::vector<std::string>{"--mount-ns", there->pid()};
    std::vector<std::string> all = where;
    all.insert(all.end(), manifest.begin(), manifest.end());
    EXPECT_EQ(check(all).codes(), "H001");
    std::vector<std::string> mending = all;
    mending.emplace_back("--force");  // the daemon may be there still
    const Said said = repair("-p", mending);
    ASSERT_EQ(said.exit, 1) << said.json;
    EXPECT_EQ(hidden(), bytes);
    EXPECT_EQ(check(all).verdict, "resume");
    EXPECT_EQ(undo(said.journal, where), 0);
    EXPECT_TRUE(fs::is_empty(share()));
  }

  TempDir elsewhere_;
  pid_t daemon_pid_ = -1;
};

TEST_F(Kept, SeenFromAnotherMountNamespace) {
  pause_with_unlinked();
  keep();
  end_daemon();
  const ByteVector before = state_bytes();
  const Elsewhere there({folder()});
  ASSERT_TRUE(fs::exists(there.seen(share())));
  ASSERT_FALSE(fs::exists(there.seen(snapshot())));
  expect_laid(kFirst, &there);
  EXPECT_EQ(state_bytes(), before);
  const Said again = repair("-p", {"--mount-ns", there.pid()});
  ASSERT_EQ(again.exit, 1) << again.json;
  EXPECT_EQ(run_vfsmend({"repair", "--finish", again.journal, "--mount-ns", there.pid()}), 0);
  EXPECT_TRUE(fs::is_empty(share()));
}

// What lies there under the same path is none of ours.
TEST_F(Kept, FileOfAnotherMountNamespaceIsNotTaken) {
  pause_with_unlinked();
  keep();
  end_daemon();
  const Elsewhere there({folder()});
  ASSERT_EQ(kept_files().size(), 1U);
  const std::string kept = kept_files().front();
  std::ofstream(there.seen(kept)) << kLater;
  expect_laid(kFirst, &there);
  fs::remove(kept);
  EXPECT_EQ(check({"--mount-ns", there.pid()}).codes(), "S004");
}

TEST_F(Kept, RelativePathAndAnotherMountNamespace) {
  pause_with_unlinked();
  const fs::path here = fs::current_path();
  fs::current_path(folder());
  keep({"-o", "its-manifest"});
  end_daemon();
  const Elsewhere there({folder()});
  expect_laid(kFirst, &there, {"--manifest", "its-manifest"});
  fs::current_path(here);
}

// A namespace that has another /proc, or none of this process, is not asked about the daemon.
TEST_F(Kept, CaptureInAnotherMountNamespace) {
  pause_with_unlinked();
  const Elsewhere there({folder(), fmt::format("/proc/{}", daemon_pid_)});
  ASSERT_FALSE(fs::exists(there.seen(fmt::format("/proc/{}/fd", daemon_pid_))));
  const std::string said = keep({"--mount-ns", there.pid()});
  EXPECT_NE(said.find("its bytes are kept"), std::string::npos) << said;
  end_daemon();
  expect_laid(kFirst);
}

// The manifest of before stands, and still means its own bytes.
TEST_F(Kept, CaptureThatIsCutShortLeavesTheOldBytes) {
  pause_with_unlinked();
  keep();
  ASSERT_EQ(kept_files().size(), 1U);
  const std::string old = fs::path(kept_files().front()).filename();
  write_unlinked(kLater);
  for (const int err : {0, ENOSPC}) keep_in_vain(err);
  EXPECT_EQ(kept_files().size(), 2U);
  expect_laid(kFirst);
  const std::string said = keep();
  EXPECT_EQ(kept_files().size(), 2U) << "the same bytes have the same name";
  EXPECT_NE(said.find(fmt::format("not meant by it: {}. A capture of before", old)), std::string::npos) << said;
  fs::remove(fs::path(folder()) / old);
  EXPECT_EQ(keep().find("not meant by it"), std::string::npos);
  end_daemon();
  expect_laid(kLater);
}

TEST_F(Kept, BytesThatAreNotTheCapturedOnesAreNotLaid) {
  pause_with_unlinked();
  keep();
  end_daemon();
  ASSERT_EQ(kept_files().size(), 1U);
  const std::string kept = kept_files().front();
  std::ofstream(kept) << kLater;
  const Said said = repair("-p");
  EXPECT_EQ(said.exit, 4) << said.json;
  EXPECT_TRUE(said.mentions("not the bytes that the capture kept")) << said.json;
  EXPECT_TRUE(fs::is_empty(share()));
  fs::resize_file(kept, 5);
  EXPECT_EQ(check().codes(), "S004");
}

}  // namespace
}  // namespace vfsmend::test
