// SPDX-License-Identifier: Apache-2.0
// What a path may be, and how it is told apart.
#include "snapshot/open.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "open_fixture.h"
#include "support/forwarding_calls.h"
#include "support/qemu_builder.h"
#include "support/vm_snapshot_builder.h"

namespace vfsmend::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Open, ARawStateIsAnyOtherFile) {
  const TempDir dir;
  const Opened opened = open_path(dir.write("state", "\x01\x02"));
  ASSERT_TRUE(opened.ok()) << opened.text();
  EXPECT_EQ(opened.result->kind, ContainerKind::kRaw);
  EXPECT_FALSE(opened.recognised);
  EXPECT_EQ(opened.device().state, bytes_of({1, 2}));
  EXPECT_EQ(opened.device().span.end, 2U);
}

TEST(Open, AnEmptyFileIsARawStateOfNoBytes) {
  const TempDir dir;
  const Opened opened = open_path(dir.write("state", ""));
  ASSERT_TRUE(opened.ok()) << opened.text();
  ASSERT_TRUE(opened.device().state);
  EXPECT_THAT(*opened.device().state, IsEmpty());
}

TEST(Open, WhatIsNotThereIsASystemError) {
  const TempDir dir;
  const Opened opened = open_path(dir / "none");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.code(), ErrorCode::kSystem);
  EXPECT_EQ(opened.result.error().sys_errno, ENOENT);
  EXPECT_EQ(opened.text(), (dir / "none") + ": cannot be opened: No such file or directory");
}

// Opening a FIFO for reading would wait for a writer, for ever.
TEST(Open, NeverOpensSpecialFiles) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  const Opened fifo = open_path(dir / "fifo");
  ASSERT_FALSE(fifo.ok());
  EXPECT_EQ(fifo.code(), ErrorCode::kNotAState);
  EXPECT_EQ(fifo.text(), (dir / "fifo") + ": is a FIFO, not a regular file");
  EXPECT_THAT(open_path("/dev/null").text(), HasSubstr("is a character device"));

  ASSERT_EQ(::mkfifo((dir / "state.json").c_str(), 0600), 0);
  const Opened inside = open_path(dir.path());
  ASSERT_FALSE(inside.ok());
  EXPECT_THAT(inside.text(), HasSubstr("state.json: is a FIFO"));
}

TEST(Open, ADirectoryOfSomethingElseSaysWhatWasLookedFor) {
  const TempDir dir;
  for (const auto& [name, bytes] :
       {std::pair("README", "x"), std::pair("config.json", "{\"name\":1}"),
        std::pair("state.json", "{\"version\":3}"), std::pair("state.json", "not JSON")}) {
    dir.write(name, bytes);
    const Opened opened = open_path(dir.path());
    ASSERT_FALSE(opened.ok());
    EXPECT_FALSE(opened.recognised);
    EXPECT_THAT(opened.text(), HasSubstr(dir.path()));
    EXPECT_EQ(opened.code(), ErrorCode::kNotAState) << name << opened.text();
    EXPECT_THAT(opened.text(), HasSubstr("state.json"));
  }
}

TEST(Open, AStateJsonByItselfIsSentToItsDirectory) {
  const TempDir dir;
  const Opened opened = open_path(dir.write("state.json", cube_state_json({})));
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.code(), ErrorCode::kNotAState);
  EXPECT_THAT(opened.text(), HasSubstr("give the snapshot directory"));
}

TEST(Open, LinksMayLeadAboutInsideTheDirectoryAndNotOutOfIt) {
  const TempDir elsewhere;
  const TempDir dir;
  const std::string bytes = cube_state_json({{.state = "[3]"}});
  dir.write("real.json", bytes);
  std::filesystem::create_symlink("real.json", dir / "state.json");
  const Opened inside = open_path(dir.path());
  ASSERT_TRUE(inside.ok()) << inside.text();
  EXPECT_EQ(inside.device().state, bytes_of({3}));

  std::filesystem::remove(dir / "state.json");
  std::filesystem::create_symlink(elsewhere.write("out.json", bytes), dir / "state.json");
  const Opened outside = open_path(dir.path());
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.code(), ErrorCode::kSystem);
  EXPECT_EQ(outside.result.error().sys_errno, EXDEV);

  std::filesystem::create_symlink(dir.path(), elsewhere / "link");  // the user's own
  std::filesystem::remove(dir / "state.json");
  dir.write("state.json", bytes);
  EXPECT_TRUE(open_path(elsewhere / "link").ok());
}

TEST(Open, AnOverlayForSomethingElseIsTheUsersMistake) {
  const TempDir dir;
  const OpenOptions options{.overlay_file = dir.write("overlay", "[]")};
  const Opened raw = open_path(dir.write("state", "x"), options);
  ASSERT_FALSE(raw.ok());
  EXPECT_EQ(raw.code(), ErrorCode::kUsage);
  dir.write("state.json", ch_state_json({{.state = "[]"}}));
  const Opened ch = open_path(dir.path(), options);
  ASSERT_FALSE(ch.ok());
  EXPECT_EQ(ch.code(), ErrorCode::kUsage);
  EXPECT_THAT(ch.text(), HasSubstr("cloud-hypervisor"));
}

TEST(Open, LeavesAccessTimesAlone) {
  const TempDir dir;
  const std::string path = dir.write("state", "\x01");
  const timespec times[2] = {{1'000'000'000, 0}, {1'100'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  ASSERT_TRUE(open_path(path).ok());
  struct stat st {};
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_atim.tv_sec, 1'000'000'000);
}

TEST(ChangedFiles, TellsAWriteAReplacementAndARemoval) {
  const TempDir dir;
  const std::string path = dir.write("state", "\x01");
  const auto changed_after = [&](auto act) {
    const Opened opened = open_path(path);
    EXPECT_TRUE(opened.ok()) << opened.text();
    EXPECT_THAT(changed_files(sys::kernel(), opened.result->files), IsEmpty());
    act();
    return changed_files(sys::kernel(), opened.result->files);
  };
  EXPECT_THAT(changed_after([&] { dir.write("state", "\x01\x02"); }), ElementsAre(path));
  EXPECT_THAT(changed_after([&] {
                dir.write("other", "\x01\x02");
                std::filesystem::rename(dir / "other", path);
              }),
              ElementsAre(path));
  EXPECT_THAT(changed_after([&] { std::filesystem::remove(path); }), ElementsAre(path));
}

// Writes to the file at the first read, as a VMM that has not finished does.
class ChangingCalls final : public ForwardingCalls {
 public:
  explicit ChangingCalls(std::string path) : path_(std::move(path)) {}
  ssize_t pread(int fd, std::span<std::uint8_t> out, std::uint64_t offset) override {
    if (!path_.empty()) std::ofstream(path_, std::ios::app) << "more";
    path_.clear();
    return ForwardingCalls::pread(fd, out, offset);
  }

 private:
  std::string path_;
};

TEST(Open, AFileThatIsBeingWrittenIsNotCalledDamaged) {
  const TempDir dir;
  const std::string whole = cube_state_json({{.state = "[1]"}});
  ChangingCalls calls(dir.write("state.json", whole.substr(0, whole.size() / 2)));
  const Opened opened = open_path(dir.path(), {}, calls);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.code(), ErrorCode::kSystem);
  EXPECT_EQ(opened.result.error().sys_errno, EBUSY);
  EXPECT_THAT(opened.text(), HasSubstr("state.json: changed while it was read"));
}

// Lets the n-th call fail.
class FailingCalls final : public ForwardingCalls {
 public:
  explicit FailingCalls(int n) : left_(n) {}
  int openat2(int dir, const char* path, const open_how& how) override {
    return fails() ? -EIO : ForwardingCalls::openat2(dir, path, how);
  }
  int statx(int dir, const char* path, int flags, unsigned mask, struct statx& out) override {
    return fails() ? -EIO : ForwardingCalls::statx(dir, path, flags, mask, out);
  }
  ssize_t pread(int fd, std::span<std::uint8_t> out, std::uint64_t offset) override {
    return fails() ? -EIO : ForwardingCalls::pread(fd, out, offset);
  }
  [[nodiscard]] bool has_failed() const { return left_ < 0; }

 private:
  bool fails() { return left_-- == 0; }
  int left_;
};

TEST(Open, EveryCallMayFail) {
  const TempDir dir;
  dir.write("cube/config.json", config_json({fs_json("virtio_rw", "virtio_rw", "{}")}));
  dir.write("cube/state.json", cube_state_json({{.state = "[1]"}}));
  dir.write("overlay", "[]");
  QemuFile file;
  file.devices.push_back({.state = std::string("\x01\x00\x02\x00\x00\x00\x00\x00\x00\x00", 10)});
  dir.write("qemu", qemu_file(file));
  dir.write("raw", "\x01");
  for (const char* name : {"cube", "qemu", "raw"}) {
    const OpenOptions options{.overlay_file = name == std::string("cube") ? dir / "overlay" : ""};
    for (int n = 0;; ++n) {
      FailingCalls calls(n);
      const Opened opened = open_path(dir / name, options, calls);
      if (!calls.has_failed()) {
        EXPECT_TRUE(opened.ok()) << opened.text();
        EXPECT_GT(n, 3);
        break;
      }
      if (opened.ok()) continue;  // a file beside it, of which only the presence is told
      EXPECT_TRUE(opened.code() == ErrorCode::kSystem || opened.code() == ErrorCode::kUsage);
      EXPECT_THAT(opened.text(), HasSubstr("Input/output error")) << name << n;
      EXPECT_THAT(opened.text(), HasSubstr(dir.path()));
    }
  }
}

}  // namespace
}  // namespace vfsmend::test
