// SPDX-License-Identifier: Apache-2.0
// A journal comes back as it was written, and what is none is refused with its place.
#include "repair/journal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/temp_dir.h"

namespace vfsmend {
namespace {

using test::TempDir;

Journal sample() {
  HostStep step;
  step.path = "d/not \xff utf-8";
  step.identity = {~std::uint64_t{0}, kNoTime, S_IFREG};
  step.before = {0, 0, 0xffffffff, -1, {}};
  step.after = {07755, 1000, 42, 1'234'567'890'123'456'789,
                {{"security.capability", std::string("\0\xff", 2)}, {"user.\xfe", ""}}};
  HiddenStep hidden;
  hidden.node = 7;
  hidden.file = {"/snap/m.kept-9-0000000000000001", ".vfsmend-kept-7-01234567", 0640, 5, 6, -7, 1'000'000,
                 {~std::uint64_t{0}, 1}};
  return {"/snap/with \"quotes\"",
          std::string("/snap/not \xff utf-8"),
          "/snap/kept",
          1234,
          true,
          {{"virtio_rw", "aa", "bb"}, {"virtio_ro", "cc", "dd"}},
          {{"virtio_rw", "/share/\xff", {{step}, {hidden}, -12345}}}};
}

std::string text_of(const Journal& journal) { return journal_text(journal, {}, "2026-01-31T12:00:00Z"); }

TEST(Journal, ComesBack) {
  const TempDir dir;
  const Journal wanted = sample();
  const auto read = read_journal(sys::kernel(), dir.write("j", text_of(wanted)));
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->snapshot, wanted.snapshot);
  EXPECT_EQ(read->file, wanted.file);
  EXPECT_EQ(read->kept, wanted.kept);
  EXPECT_EQ(read->size_before, wanted.size_before);
  ASSERT_EQ(read->states.size(), 2U);
  EXPECT_EQ(read->states[1].device, "virtio_ro");
  EXPECT_EQ(read->states[1].after, "dd");
  EXPECT_TRUE(read->done);
}

TEST(Journal, WhatIsOfTheHostComesBack) {
  const TempDir dir;
  const JournalHost wanted = sample().host[0];
  const auto read = read_journal(sys::kernel(), dir.write("j", text_of(sample())));
  ASSERT_TRUE(read) << read.error().text;
  ASSERT_EQ(read->host.size(), 1U);
  const JournalHost& host = read->host[0];
  EXPECT_EQ(host.device, wanted.device);
  EXPECT_EQ(host.share, wanted.share);
  ASSERT_EQ(host.work.steps.size(), 1U);
  EXPECT_EQ(host.work.steps[0].path, wanted.work.steps[0].path);
  EXPECT_EQ(host.work.steps[0].identity, wanted.work.steps[0].identity);
  EXPECT_EQ(host.work.steps[0].before, wanted.work.steps[0].before);
  EXPECT_EQ(host.work.steps[0].after, wanted.work.steps[0].after);
  ASSERT_EQ(host.work.hidden.size(), 1U);
  EXPECT_EQ(host.work.hidden[0].file.hidden_name, wanted.work.hidden[0].file.hidden_name);
  EXPECT_EQ(host.work.hidden[0].file.mode, wanted.work.hidden[0].file.mode);
  EXPECT_EQ(host.work.hidden[0].file.mtime, wanted.work.hidden[0].file.mtime);
  EXPECT_EQ(host.work.hidden[0].file.hash, wanted.work.hidden[0].file.hash);
  EXPECT_EQ(host.work.hidden[0].file.size, wanted.work.hidden[0].file.size);
}

// A journal lies beside a snapshot, where root writes: but undo acts on what it says.
TEST(Journal, ValuesThatCannotBeAreRefused) {
  const TempDir dir;
  const std::string good = text_of(sample());
  const auto error_with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const auto read = read_journal(sys::kernel(), dir.write("j", text));
    return read ? std::string("accepted") : read.error().text.substr((dir / "j").size() + 2);
  };
  EXPECT_EQ(error_with(R"("mode":"7755")", R"("mode":"17755")"), "\"mode\" is missing, or no mode");
  EXPECT_EQ(error_with(R"("mode":"7755")", R"("mode":7755)"), "\"mode\" is missing, or no text");
  EXPECT_EQ(error_with(R"("uid":1000)", R"("uid":4294967296)"), "\"uid\" is missing, or no number");
  EXPECT_EQ(error_with(R"("uid":1000)", R"("uid":-1)"), "\"uid\" is missing, or no number");
  EXPECT_EQ(error_with(R"("name":".vfs)", R"("name":"../.vfs)"),
            "\"name\" is missing, or no name in the share's root");
  EXPECT_EQ(error_with(R"("xxh3":[)", R"("xxh3":[1,)"), "\"xxh3\" is missing, or no pair of numbers");
  EXPECT_EQ(error_with(R"("xattrs":[])", R"("xattrs":[["a"]])"), "\"xattrs\" is missing, or no list of pairs");
  EXPECT_EQ(error_with(R"("objects":[{)", R"("objects":[[],{)"),
            "\"objects\" is missing, or no list of objects");
}

TEST(Journal, CutAnywhereIsRefused) {
  const TempDir dir;
  const std::string text = text_of(sample());
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {  // the last two: '}' and the line end
    const auto read = read_journal(sys::kernel(), dir.write("j", text.substr(0, size)));
    ASSERT_FALSE(read) << size;
    EXPECT_TRUE(read.error().text.starts_with(dir / "j")) << read.error().text;
  }
}

TEST(Journal, WhatIsNoneSaysWhy) {
  const TempDir dir;
  const auto error = [&](std::string_view text) {
    const auto read = read_journal(sys::kernel(), dir.write("j", text));
    return read ? std::string() : read.error().text.substr((dir / "j").size() + 2);
  };
  EXPECT_EQ(error("[]"), "no JSON object");
  EXPECT_EQ(error("{}"), "\"schema\" is missing, or no text");
  EXPECT_EQ(error(R"({"schema":"vfsmend.report/1"})"),
            "a journal of kind \"vfsmend.report/1\", not vfsmend.journal/1");
  EXPECT_EQ(error(R"({"schema":"vfsmend.journal/1","snapshot":1})"), "\"snapshot\" is missing, or no text");
  EXPECT_EQ(error(std::string(100'000, '[')).substr(0, 5), "byte ");
  EXPECT_TRUE(error("no JSON").ends_with("A journal is JSON: give the file that the repair named"));
}

}  // namespace
}  // namespace vfsmend
