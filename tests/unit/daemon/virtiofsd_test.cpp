// SPDX-License-Identifier: Apache-2.0
// Programs that are given as a virtiofsd and are none: a clear error, and in time.
#include "daemon/virtiofsd.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "daemon/migrate.h"
#include "fake_peer.h"
#include "support/descriptors.h"
#include "support/temp_dir.h"

namespace vfsmend::daemon::test {
namespace {

using vfsmend::test::TempDir;

class Impostor : public testing::Test {
 protected:
  [[nodiscard]] std::string script(const std::string& lines) const {
    std::string path = dir_.write("program", "#!/bin/sh\n" + lines + "\n");
    EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
    return path;
  }
  [[nodiscard]] VirtiofsdStart how(const std::string& program) const {
    return {program, {"--shared-dir", "/"}, dir_.path(), false};
  }
  // Started; its own end, if there is one, is waited for.
  [[nodiscard]] Virtiofsd started(const std::string& program) const {
    auto daemon = Virtiofsd::start(how(program));
    if (!daemon) {
      ADD_FAILURE() << daemon.error().text;
      std::abort();
    }
    return std::move(*daemon);
  }

  TempDir dir_;
};

// What is said of a greeting that fails, after the program has ended.
Error greeting(Virtiofsd daemon) {
  EXPECT_TRUE(daemon.ended(soon()));
  const auto features = greet(daemon.wire(), soon());
  EXPECT_FALSE(features);
  return features ? Error{} : daemon.explain(features.error());
}

TEST_F(Impostor, CannotBeExecuted) {
  const std::string plain = dir_.write("plain", "text");
  const struct {
    std::string program;
    int err;
    const char* text;
  } cases[] = {{dir_ / "nowhere", ENOENT, ": No such file or directory"},
               {plain, EACCES, ": Permission denied"},
               {"virtiofsd", ENOENT, ": No such file or directory"}};  // not looked for in PATH
  for (const auto& c : cases) {
    const std::size_t before = vfsmend::test::open_descriptors();
    const auto daemon = Virtiofsd::start(how(c.program));
    ASSERT_FALSE(daemon) << c.program;
    EXPECT_EQ(daemon.error().code, ErrorCode::kSystem);
    EXPECT_EQ(daemon.error().sys_errno, c.err);
    EXPECT_EQ(daemon.error().text, c.program + c.text);
    EXPECT_EQ(vfsmend::test::open_descriptors(), before);
  }
}

TEST_F(Impostor, ADirectoryForTheSocketThatIsNone) {
  VirtiofsdStart start = how("/bin/true");
  start.socket_directory = dir_ / "nowhere";
  const auto daemon = Virtiofsd::start(start);
  ASSERT_FALSE(daemon);
  EXPECT_EQ(daemon.error().text, "bind " + (dir_ / "nowhere/socket") + ": No such file or directory");
}

TEST_F(Impostor, EndsAtOnce) {
  const Error error = greeting(started("/bin/false"));
  EXPECT_EQ(error.code, ErrorCode::kSystem);
  EXPECT_EQ(error.text,
            "virtiofsd has ended (exit status 1) at GET_FEATURES: send: Broken pipe");
}

TEST_F(Impostor, EndsWhileItIsAsked) {
  Virtiofsd daemon = started(script("sleep 0.1; exit 3"));
  const auto features = greet(daemon.wire(), soon());
  ASSERT_FALSE(features);
  EXPECT_EQ(daemon.explain(features.error()).text, "virtiofsd has ended (exit status 3) at "
                                                   "GET_FEATURES: receive: Connection reset by peer");
}

TEST_F(Impostor, ComplainsOfItsSwitches) {
  const std::string text = greeting(started("/bin/sleep")).text;
  EXPECT_TRUE(text.starts_with("virtiofsd has ended (exit status 1) at GET_FEATURES: send: Broken "
                               "pipe: /bin/sleep: unrecognized option '--fd'\\n")) << text;
}

TEST_F(Impostor, WhatItSaidAtLastIsToldInOneLine) {
  const Error error = greeting(started(script("echo out; printf 'bad\\033[1m\\n' >&2; exit 2")));
  EXPECT_EQ(error.text, "virtiofsd has ended (exit status 2) at GET_FEATURES: send: Broken pipe: "
                        "out\\nbad\\x1b[1m");
}

TEST_F(Impostor, OfALongComplaintTheEnd) {
  const Error error = greeting(
      started(script("i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done; exit 2")));
  EXPECT_TRUE(error.text.ends_with("line 498\\nline 499")) << error.text;
  EXPECT_EQ(error.text.find("line 400"), std::string::npos);
}

TEST_F(Impostor, KilledByASignal) {
  EXPECT_EQ(greeting(started(script("kill -ABRT $$"))).text,
            "virtiofsd has ended (signal 6 (Aborted)) at GET_FEATURES: send: Broken pipe");
}

TEST_F(Impostor, NeverAnswers) {
  Virtiofsd daemon = started(script("exec sleep 60"));
  const auto begin = std::chrono::steady_clock::now();
  const auto features = greet(daemon.wire(), short_time());
  ASSERT_FALSE(features);
  const Error error = daemon.explain(features.error());
  EXPECT_EQ(error.code, ErrorCode::kTimeout);
  EXPECT_EQ(error.text, "GET_FEATURES: no answer in time");
  EXPECT_EQ(daemon.ended(short_time()), std::nullopt);
  daemon.kill();
  EXPECT_EQ(daemon.ended(short_time()), "signal 9 (Killed)");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kGenerous / 2);
}

TEST_F(Impostor, ItsLogIsReadFromWhereOneWas) {
  ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  const sys::UniqueFd go_on(::open((dir_ / "fifo").c_str(), O_RDWR | O_CLOEXEC));
  Virtiofsd daemon = started(script("echo one; read line < " + (dir_ / "fifo") + "; echo two >&2"));
  std::uint64_t from = 0;
  std::string text;
  for (const sys::Deadline end = soon(); text.empty() && !end.passed();) {
    text = daemon.log(from).value_or("?");
  }
  EXPECT_EQ(text, "one\n");
  EXPECT_EQ(from, 4U);
  EXPECT_EQ(daemon.log(from).value_or("?"), "");
  ASSERT_EQ(::write(go_on.get(), "\n", 1), 1);
  EXPECT_TRUE(daemon.ended(soon()));
  EXPECT_EQ(daemon.log(from).value_or("?"), "two\n");
  EXPECT_EQ(daemon.log(from).value_or("?"), "");
}

TEST_F(Impostor, GetsItsSwitchesBehindTheListener) {
  Virtiofsd daemon = started(script("echo \"$@\"; [ -S /proc/self/fd/3 ] && echo socket"));
  EXPECT_TRUE(daemon.ended(soon()));
  std::uint64_t from = 0;
  EXPECT_EQ(daemon.log(from).value_or("?"), "--fd 3 --shared-dir /\nsocket\n");
}

std::string version(const std::string& program, sys::Deadline deadline = soon()) {
  const auto said = version_of(program, deadline);
  return said ? *said : "error: " + said.error().text;
}

TEST_F(Impostor, VersionOfOne) {
  EXPECT_EQ(version(script("echo virtiofsd 9.8.7; echo more")), "9.8.7");
  EXPECT_EQ(version(script("[ \"$*\" = --version ] && printf 'virtiofsd 1.2.3'")), "1.2.3");
  const std::string path = script("echo virtiofs 1");
  EXPECT_EQ(version(path),
            "error: " + path + " --version: \"virtiofs 1\" is not what virtiofsd says");
  EXPECT_EQ(version(script("exit 1")),
            "error: " + path + " --version: \"\" is not what virtiofsd says");
  EXPECT_EQ(version(dir_ / "nowhere"), "error: " + (dir_ / "nowhere") + ": No such file or directory");
}

TEST_F(Impostor, VersionOfAnotherProgram) {
  const auto said = version_of("/bin/echo", soon());
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, ErrorCode::kFormat);
  EXPECT_TRUE(said.error().text.starts_with("/bin/echo --version: \"")) << said.error().text;
  EXPECT_TRUE(said.error().text.ends_with("\" is not what virtiofsd says")) << said.error().text;
}

TEST_F(Impostor, VersionOfOneThatHangs) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string path = script("exec sleep 60");
  const auto said = version_of(path, short_time());
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(said.error().text, path + " --version: no answer in time");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kGenerous / 2);
}

}  // namespace
}  // namespace vfsmend::daemon::test
