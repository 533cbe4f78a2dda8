// SPDX-License-Identifier: Apache-2.0
// A journal comes back as it was written, and what is none is refused with its place.
#include "repair/journal.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace vfsmend {
namespace {

using test::TempDir;

Journal sample() {
  return {"/snap/with \"quotes\"", std::string("/snap/not \xff utf-8"), "/snap/kept", 1234,
          {{"virtio_rw", "aa", "bb"}, {"virtio_ro", "cc", "dd"}}};
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
}

}  // namespace
}  // namespace vfsmend
