// SPDX-License-Identifier: Apache-2.0
// What a daemon says, with names in it that a tenant has chosen.
#include "daemon/daemon_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"

namespace vfsmend::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// As env_logger writes a record: what follows a line break in the text is set in.
std::string record(std::string_view text, std::string_view level = "ERROR",
                   std::string_view module = "virtiofsd::vhost_user") {
  std::string out = "[2026-01-02T03:04:05Z " + std::string(level) + " " + std::string(module) + "] ";
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "    ";
  }
  return out + "\n";
}
std::string load_failed(std::string_view text) {
  return record("Migration failed: Failed to load state: " + std::string(text));
}
std::string invalid_inode(std::uint64_t id, std::string_view text) {
  return record("Invalid inode " + std::to_string(id) + " indexed: " + std::string(text), "WARN ",
                "virtiofsd::passthrough::device_state::deserialization");
}
std::string invalid_handle(std::uint64_t id, std::string_view text) {
  return record("Invalid handle " + std::to_string(id) + " is open in guest: " + std::string(text),
                "WARN ", "virtiofsd::passthrough::device_state::deserialization");
}

TEST(DaemonLog, Empty) {
  for (const std::string text : {"", "\n", "\n\n\n"}) {
    const DaemonLog log = parse_log(text);
    EXPECT_EQ(log.load_error, std::nullopt);
    EXPECT_THAT(log.invalid_inodes, IsEmpty());
    EXPECT_THAT(log.invalid_handles, IsEmpty());
    EXPECT_EQ(log.other, "");
  }
}

TEST(DaemonLog, ALoadThatFailed) {
  const DaemonLog log = parse_log(load_failed("Inode 2: Migration source has lost inode 2"));
  EXPECT_EQ(log.load_error.value_or("?"), "Inode 2: Migration source has lost inode 2");
  EXPECT_EQ(log.other, "");
}

TEST(DaemonLog, StubsWithWhatBefellThem) {
  const DaemonLog log = parse_log(invalid_inode(2, "Opening /a: no") + invalid_inode(70, "lost") +
                                  invalid_handle(0, "Opening /a: no"));
  EXPECT_EQ(log.load_error, std::nullopt);
  EXPECT_THAT(log.invalid_inodes, ElementsAre(Pair(2, "Opening /a: no"), Pair(70, "lost")));
  EXPECT_THAT(log.invalid_handles, ElementsAre(Pair(0, "Opening /a: no")));
}

TEST(DaemonLog, NumbersAtTheirEnd) {
  const DaemonLog log = parse_log(invalid_inode(~std::uint64_t{0}, "x") +
                                  record("Invalid inode 18446744073709551616 indexed: y"));
  EXPECT_THAT(log.invalid_inodes, ElementsAre(Pair(~std::uint64_t{0}, "x")));
  EXPECT_EQ(log.other, "Invalid inode 18446744073709551616 indexed: y\n");
}

TEST(DaemonLog, TheFirstOfTwoTexts) {
  const DaemonLog log = parse_log(invalid_inode(2, "first") + invalid_inode(2, "second"));
  EXPECT_THAT(log.invalid_inodes, ElementsAre(Pair(2, "first")));
}

TEST(DaemonLog, TheLastOfTwoLoads) {
  const DaemonLog log = parse_log(load_failed("one") + invalid_inode(3, "stub") + load_failed("two"));
  EXPECT_EQ(log.load_error.value_or("?"), "two");
  EXPECT_THAT(log.invalid_inodes, ElementsAre(Pair(3, "stub")));
}

TEST(DaemonLog, WithoutANewlineAtTheEnd) {
  std::string text = load_failed("cut");
  text.pop_back();
  EXPECT_EQ(parse_log(text).load_error.value_or("?"), "cut");
  EXPECT_EQ(parse_log("error: no").other, "error: no\n");
}

TEST(DaemonLog, LineBreaksInNames) {
  const DaemonLog log = parse_log(load_failed("Opening /a\nb\n\n c") + invalid_inode(2, "x\n"));
  EXPECT_EQ(log.load_error.value_or("?"), "Opening /a\nb\n\n c");
  EXPECT_THAT(log.invalid_inodes, ElementsAre(Pair(2, "x\n")));
}

TEST(DaemonLog, NamesThatLookLikeRecords) {
  const std::string name = "a\n" + record("Invalid inode 9 indexed: forged") + load_failed("forged");
  const DaemonLog log = parse_log(load_failed(name) + invalid_handle(1, "x] y"));
  EXPECT_EQ(log.load_error.value_or("?"), name);
  EXPECT_THAT(log.invalid_inodes, IsEmpty());
  EXPECT_THAT(log.invalid_handles, ElementsAre(Pair(1, "x] y")));
}

TEST(DaemonLog, OtherErrorsAndNothingLess) {
  const DaemonLog log = parse_log(record("Waiting for vhost-user", "INFO ") + record("bad\nthing") +
                                  record("watch out", "WARN ") + record("Error creating sandbox"));
  EXPECT_EQ(log.other, "bad\nthing\nError creating sandbox\n");
}

TEST(DaemonLog, WhatStandsOutsideRecords) {
  const DaemonLog log = parse_log(
      load_failed("one") + "\nthread 'main' panicked at src/main.rs:5:9:\nno way\nnote: run with x\n");
  EXPECT_EQ(log.load_error.value_or("?"), "one");
  EXPECT_EQ(log.other, "thread 'main' panicked at src/main.rs:5:9:\nno way\nnote: run with x\n");
}

TEST(DaemonLog, SetInWithoutARecordBeforeIsOutside) {
  EXPECT_EQ(parse_log("USAGE:\n    virtiofsd [OPTIONS]\n").other, "USAGE:\n    virtiofsd [OPTIONS]\n");
}

TEST(DaemonLog, WhatOnlyLooksLikeARecord) {
  for (const std::string line :
       {"[2026-01-02T03:04:05Z ERROR virtiofsd::main", "[2026-01-02T03:04:05Z ERROR]",
        "[short] text", "2026-01-02T03:04:05Z ERROR virtiofsd] text", "[", "[]", "[] ",
        "[2026-01-02 03:04:05  ERROR virtiofsd] text"}) {
    EXPECT_EQ(parse_log(line).other, line + "\n");
  }
}

TEST(DaemonLog, ATextThatBeginsWithALineBreak) {
  EXPECT_EQ(parse_log(record("\nbehind it")).other, "\nbehind it\n");
  EXPECT_EQ(parse_log(record("") + load_failed("x")).load_error.value_or("?"), "x");
}

// Texts of line breaks, blanks, brackets and whole records, more often than chance would have them.
rc::Gen<std::string> hostile_text() {
  const auto part = rc::gen::oneOf(
      rc::gen::arbitrary<std::string>(),
      rc::gen::element<std::string>("\n", "    ", "] ", "[", "\r\n", record("x"), load_failed("y"),
                                    "Invalid inode 7 indexed: z"));
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(part),
                      [](const std::vector<std::string>& parts) {
                        std::string out;
                        for (const std::string& text : parts) out += text;
                        return out;
                      });
}

RC_GTEST_PROP(DaemonLog, TextsComeBackAsTheyWereWritten, ()) {
  const std::string error = *hostile_text();
  const std::map<std::uint64_t, std::string> inodes =
      *rc::gen::container<std::map<std::uint64_t, std::string>>(
          rc::gen::arbitrary<std::uint64_t>(), hostile_text());
  const std::string handle = *hostile_text();
  const std::string other = *hostile_text();
  RC_PRE(!other.starts_with("Invalid ") && !other.starts_with("Migration "));
  std::string text = record(other) + load_failed(error);
  for (const auto& [id, what] : inodes) text += invalid_inode(id, what);
  const DaemonLog log = parse_log(text + invalid_handle(3, handle));
  RC_ASSERT(log.load_error.value_or("?") == error);
  RC_ASSERT(log.invalid_inodes == inodes);
  RC_ASSERT(log.invalid_handles == (std::map<std::uint64_t, std::string>{{3, handle}}));
  RC_ASSERT(log.other == other + "\n");
}

RC_GTEST_PROP(DaemonLog, AnyBytesAreTaken, ()) {
  const std::string text = *hostile_text();
  const DaemonLog log = parse_log(text);
  RC_ASSERT(log.other.size() <= text.size() + 1);
}

}  // namespace
}  // namespace vfsmend::daemon
