// SPDX-License-Identifier: Apache-2.0
// Mounts that a daemon with file handles cannot open, and mount tables that it cannot read. Each
// test mounts in a process of its own, of which nothing is left.
#include "verdict/mount_probe.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>

#include "base/text.h"
#include "support/state_builder.h"
#include "support/temp_dir.h"
#include "verdict/restore_model.h"

namespace vfsmend::test {
namespace {

constexpr int kNoMounts = 77;
const char* const kNoEntry = "Inode 2: No such file or directory (os error 2)";
const char* const kIo = "Inode 2: Input/output error (os error 5)";

Destination with_handles(InodeFileHandles handles, Sandbox sandbox = Sandbox::kNone) {
  Destination to = virtiofsd();
  to.inode_file_handles = handles;
  to.capabilities.dac_read_search = handles != InodeFileHandles::kNever;
  to.sandbox = sandbox;
  return to;
}

class MountProbeTest : public testing::Test {
 protected:
  // `body` in a child with mounts of its own, on a tmpfs; its failures are ours.
  void alone(const std::function<void()>& body) {
    if (::geteuid() != 0) GTEST_SKIP() << "mounts need root";
    std::fflush(stdout);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (::unshare(CLONE_NEWNS) != 0 ||
          ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          ::mount("none", dir_.path().c_str(), "tmpfs", 0, nullptr) != 0) {
        ::_exit(kNoMounts);
      }
      make(share_);
      body();
      std::fflush(stdout);
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (status == W_EXITCODE(kNoMounts, 0)) GTEST_SKIP() << "no private mount namespace here";
    EXPECT_EQ(status, 0) << "the child has failed, see above";
  }

  static void make(const std::string& path) { ASSERT_EQ(::mkdir(path.c_str(), 0755), 0) << path; }
  // A tmpfs on a new directory, with a file `f` in it.
  static void mount_new(const std::string& path) {
    make(path);
    ASSERT_EQ(::mount("none", path.c_str(), "tmpfs", 0, nullptr), 0) << path;
    std::ofstream(path + "/f") << "text";
  }
  static void bind(const std::string& from, const std::string& to) {
    ASSERT_EQ(::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr), 0) << to;
  }
  // The text of a load of the root and of inode 2, `name` in it; empty where it succeeds.
  [[nodiscard]] std::string loaded(std::string_view name, const Destination& to) const {
    return loaded_from(share_, name, to);
  }
  static std::string loaded_from(const std::string& share, std::string_view name,
                                 const Destination& to) {
    return check_state(state_of({root(3), at(2, 1, name)}), share, to).restore.error.value_or("");
  }

  TempDir dir_;
  std::string share_ = dir_ / "share";
};

constexpr InodeFileHandles kNever = InodeFileHandles::kNever;
constexpr InodeFileHandles kPrefer = InodeFileHandles::kPrefer;
constexpr InodeFileHandles kMandatory = InodeFileHandles::kMandatory;
constexpr Sandbox kSandboxes[] = {Sandbox::kNone, Sandbox::kChroot, Sandbox::kNamespace};
const char* const kCannotOpen =
    "Failed to create internal filesystem representation: No such file or directory (os error 2)";

TEST_F(MountProbeTest, AMountThatIsListedInEscapes) {
  alone([&] {
    for (const std::string name : {"a\tb", "a\nb", "a b", "a\\b", " ", "\\040"}) {
      mount_new(share_ + "/" + name);
      for (const Sandbox sandbox : kSandboxes) {
        EXPECT_EQ(loaded(name, with_handles(kPrefer, sandbox)), kNoEntry) << printable(name);
        EXPECT_EQ(loaded(name, with_handles(kMandatory, sandbox)), kNoEntry) << printable(name);
        EXPECT_EQ(loaded(name, with_handles(kNever, sandbox)), "") << printable(name);
      }
    }
  });
}

TEST_F(MountProbeTest, AMountUnderAPlainName) {
  alone([&] {
    for (const std::string name : {"plain", "caf\xc3\xa9", "#", "\x01", "\x1c", "z\xe2\x80\x8bw"}) {
      mount_new(share_ + "/" + name);
      for (const Sandbox sandbox : kSandboxes) {
        EXPECT_EQ(loaded(name, with_handles(kPrefer, sandbox)), "") << printable(name);
      }
    }
  });
}

// All that follows stood in the log of virtiofsd 1.13.2.
TEST_F(MountProbeTest, WhiteSpaceOfUnicodeEndsAColumn) {
  alone([&] {
    for (const std::string name : {"a\rb", "a\vb", "a\fb", "a\xc2\x85", "a\xc2\xa0", "a\xe1\x9a\x80",
                                   "a\xe2\x80\x80", "a\xe2\x80\x8a", "a\xe2\x80\xa8", "a\xe2\x80\xaf",
                                   "a\xe2\x81\x9f", "a\xe3\x80\x80x"}) {
      mount_new(share_ + "/" + name);
      for (const Sandbox sandbox : kSandboxes) {
        EXPECT_EQ(loaded(name, with_handles(kPrefer, sandbox)), kNoEntry) << printable(name);
      }
    }
    make(share_ + "/a");
    for (const Sandbox sandbox : kSandboxes) {
      EXPECT_EQ(loaded("a\rb", with_handles(kPrefer, sandbox)), kIo) << "what it takes for the name";
    }
  });
}

TEST_F(MountProbeTest, WhiteSpaceInWhatIsMountedMovesTheColumns) {
  alone([&] {
    make(dir_ / "s\r");
    for (const std::string name : {"one", "two"}) {
      const std::string source = name == "one" ? dir_ / "s\r/one" : dir_ / "s\r\r";
      make(source);
      make(share_ + "/" + name);
      bind(source, share_ + "/" + name);
    }
    EXPECT_EQ(loaded("one", with_handles(kPrefer, Sandbox::kNone)), kNoEntry);
    EXPECT_EQ(loaded("one", with_handles(kPrefer, Sandbox::kChroot)), kIo);
    EXPECT_EQ(loaded("one", with_handles(kPrefer, Sandbox::kNamespace)), "") << "/one, by chance";
    EXPECT_EQ(loaded("two", with_handles(kPrefer, Sandbox::kNone)), kNoEntry);
    EXPECT_EQ(loaded("two", with_handles(kPrefer, Sandbox::kChroot)), kIo);
    EXPECT_EQ(loaded("two", with_handles(kPrefer, Sandbox::kNamespace)), kNoEntry);
  });
}

TEST_F(MountProbeTest, AShareBelowANameWithABlank) {
  alone([&] {
    make(dir_ / "my share");
    mount_new(dir_ / "my share/plain");
    const auto text = [&](Sandbox sandbox) {
      return loaded_from(dir_ / "my share", "plain", with_handles(kPrefer, sandbox));
    };
    EXPECT_EQ(text(Sandbox::kNone), kNoEntry);
    EXPECT_EQ(text(Sandbox::kChroot), kIo);
    EXPECT_EQ(text(Sandbox::kNamespace), "");
  });
}

TEST_F(MountProbeTest, AShareBelowANameWithAnotherWhiteSpace) {
  alone([&] {
    make(dir_ / "my\rshare");
    mount_new(dir_ / "my\rshare/plain");
    const auto text = [&](Sandbox sandbox) {
      return loaded_from(dir_ / "my\rshare", "plain", with_handles(kPrefer, sandbox));
    };
    EXPECT_EQ(text(Sandbox::kNone), kNoEntry);
    EXPECT_EQ(text(Sandbox::kChroot), kIo);
    EXPECT_EQ(text(Sandbox::kNamespace), kCannotOpen);
  });
}

TEST_F(MountProbeTest, NamesThatAreNoMountsMayHaveBlanks) {
  alone([&] {
    make(share_ + "/a b");
    EXPECT_EQ(loaded("a b", with_handles(kPrefer)), "");
    // Below a directory with a blank stands no mount that could be opened.
    mount_new(share_ + "/a b/m");
    const State state = state_of({root(3), at(3, 1, "a b", 2), at(2, 3, "m")});
    EXPECT_EQ(check_state(state, share_, with_handles(kPrefer)).restore.error.value_or(""), kNoEntry);
    EXPECT_EQ(check_state(state, share_, with_handles(kNever)).restore.error.value_or(""), "");
  });
}

TEST_F(MountProbeTest, AllInodesOfTheMountFail) {
  alone([&] {
    mount_new(share_ + "/a b");
    Destination to = with_handles(kPrefer);
    to.on_error = OnError::kGuestError;
    std::ofstream(share_ + "/own") << "text";
    const State state = state_of({root(4), at(2, 1, "a b", 2), at(3, 2, "f"), at(4, 1, "own")});
    const Restore restore = check_state(state, share_, to).restore;
    EXPECT_EQ(restore.outcome, Outcome::kSucceeds);
    EXPECT_EQ(restore.invalid_inodes, (std::vector<NodeId>{2, 3}));
  });
}

TEST_F(MountProbeTest, TheEscapedNameStandsBesideIt) {
  alone([&] {
    mount_new(share_ + "/a\tb");
    make(share_ + "/a\\011b");
    EXPECT_EQ(loaded("a\tb", with_handles(kPrefer)), kIo) << "a directory of the share";
    EXPECT_EQ(loaded("a\tb", with_handles(kPrefer, Sandbox::kNamespace)), kIo);
    EXPECT_EQ(loaded("a\tb", with_handles(kNever)), "");
    bind(share_ + "/a\tb", share_ + "/a\\011b");
    EXPECT_EQ(loaded("a\tb", with_handles(kPrefer)), kIo) << "the same files, and another mount";
  });
}

TEST_F(MountProbeTest, MountsOfWhatIsNoDirectory) {
  alone([&] {
    std::ofstream(share_ + "/file") << "text";
    std::ofstream(share_ + "/a b") << "mounted on";
    ASSERT_EQ(::mkfifo((share_ + "/fifo").c_str(), 0600), 0);
    bind(share_ + "/file", share_ + "/file");
    bind(share_ + "/fifo", share_ + "/fifo");
    bind(share_ + "/file", share_ + "/a b");
    EXPECT_EQ(loaded("file", with_handles(kPrefer)), "");
    EXPECT_EQ(loaded("fifo", with_handles(kPrefer)), kIo);
    EXPECT_EQ(loaded("a b", with_handles(kPrefer)), kNoEntry);
  });
}

TEST_F(MountProbeTest, PreferIsNeverOnAShareWithoutHandles) {
  alone([&] {
    for (const char* part : {"lower", "upper", "work"}) make(dir_ / part);
    const std::string options = "lowerdir=" + (dir_ / "lower") + ",upperdir=" + (dir_ / "upper") +
                                ",workdir=" + (dir_ / "work");
    if (::mount("overlay", share_.c_str(), "overlay", 0, options.c_str()) != 0) ::_exit(kNoMounts);
    mount_new(share_ + "/a b");
    EXPECT_EQ(loaded("a b", with_handles(kPrefer)), "") << "mounts below it too";
    mount_new(share_ + "/caf\xe9");
    EXPECT_EQ(loaded("a b", with_handles(kPrefer)), "") << "the table is not read";
    EXPECT_EQ(loaded("a b", with_handles(kMandatory)),
              "Failed to create internal filesystem representation: Operation not supported (os "
              "error 95)");
  });
}

TEST_F(MountProbeTest, AMountPointThatIsNotUtf8KeepsTheDaemonFromStarting) {
  alone([&] {
    mount_new(share_ + "/caf\xe9");
    for (const Sandbox sandbox : {Sandbox::kNone, Sandbox::kNamespace}) {
      for (const InodeFileHandles handles : {kPrefer, kMandatory}) {
        const auto report = check_state(state_of({root(2)}), share_, with_handles(handles, sandbox));
        const std::string text = "Failed to create internal filesystem representation: stream did "
                                 "not contain valid UTF-8";
        EXPECT_EQ(report.restore.outcome, Outcome::kFails);
        EXPECT_EQ(report.restore.error.value_or(""), text);
        ASSERT_EQ(report.findings.size(), 1U);
        EXPECT_EQ(report.findings[0].code, Code::kE002);
        EXPECT_EQ(report.findings[0].message, "the daemon does not start: " + text);
        EXPECT_EQ(report.findings[0].repair.value_or(Remedy{}).action,
                  "unmount " + share_ + "/caf\\xe9, whose name is not UTF-8, or start with "
                                        "--inode-file-handles=never");
      }
      const auto report = check_state(state_of({root(2)}), share_, with_handles(kNever, sandbox));
      EXPECT_EQ(report.restore.outcome, Outcome::kSucceeds);
      EXPECT_TRUE(report.findings.empty());
    }
  });
}

TEST_F(MountProbeTest, SuchAMountElsewhereCountsWhereItIsListed) {
  alone([&] {
    mount_new(dir_ / "caf\xe9");
    mount_new(share_ + "x");  // begins with the name of the share, and is not below it
    mount_new(share_ + "x/caf\xe9");
    const auto outcome = [&](Sandbox sandbox) {
      return check_state(state_of({root(2)}), share_, with_handles(kPrefer, sandbox)).restore.outcome;
    };
    EXPECT_EQ(outcome(Sandbox::kNone), Outcome::kFails);
    EXPECT_EQ(outcome(Sandbox::kChroot), Outcome::kFails);
    EXPECT_EQ(outcome(Sandbox::kNamespace), Outcome::kSucceeds);
  });
}

TEST_F(MountProbeTest, AShareThatIsSuchAMountItself) {
  alone([&] {
    mount_new(dir_ / "my share");
    const auto report = [&](Sandbox sandbox) {
      return check_state(state_of({root(2)}), dir_ / "my share", with_handles(kPrefer, sandbox));
    };
    EXPECT_EQ(report(Sandbox::kNone).restore.error.value_or(""), kCannotOpen);
    EXPECT_TRUE(has_code(report(Sandbox::kNone), Code::kE002));
    EXPECT_EQ(report(Sandbox::kChroot).restore.outcome, Outcome::kSucceeds);
    EXPECT_EQ(report(Sandbox::kNamespace).restore.outcome, Outcome::kSucceeds) << "it is / there";
  });
}

TEST_F(MountProbeTest, ASecondRootNeedsNoDescriptorWithHandles) {
  alone([&] {
    const auto text = [&](InodeFileHandles handles, std::uint64_t room) {
      Destination to = with_handles(handles);
      to.rlimit_nofile = kReservedDescriptors + 1 + room;
      return check_state(state_of({root(2), root(2)}), share_, to).restore.error.value_or("");
    };
    EXPECT_EQ(text(kPrefer, 0), "Double-use of FUSE inode ID 1");
    EXPECT_EQ(text(kNever, 0), "Too many open files in system (os error 23)");
    EXPECT_EQ(text(kNever, 1), "Too many open files in system (os error 23)") << "for the second";
    EXPECT_EQ(text(kNever, 2), "Double-use of FUSE inode ID 1");
  });
}

TEST_F(MountProbeTest, AsksOnceForAMount) {
  alone([&] {
    mount_new(share_ + "/a b");
    Destination to = with_handles(kPrefer);
    to.shared_dir = share_;
    const Share share = open_share(sys::kernel(), to);
    std::uint64_t id = 0;
    for (const auto& [number, mount] : share.mounts) {
      if (mount.mount_point == share_ + "/a b") id = number;
    }
    MountProbe probe(sys::kernel(), to, share);
    EXPECT_EQ(probe.problem(id), ENOENT);
    EXPECT_EQ(probe.problem(share.stat.stx_mnt_id), 0);
    EXPECT_EQ(probe.problem(~std::uint64_t{0}), 0) << "not in the table: not judged";
    make(share_ + "/a\\040b");
    EXPECT_EQ(probe.problem(id), ENOENT) << "the first answer stays";
    EXPECT_EQ(MountProbe(sys::kernel(), to, share).problem(id), EIO);
  });
}

}  // namespace
}  // namespace vfsmend::test
