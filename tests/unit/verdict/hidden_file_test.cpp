// SPDX-License-Identifier: Apache-2.0
// The fact "kept" of a section, and the names that come of it.
#include "verdict/hidden_file.h"

#include <gtest/gtest.h>

namespace vfsmend {
namespace {

constexpr ContentHash kHash = {0x0123456789abcdef, 0xfedcba9876543210};

ObjectFacts facts() {
  ObjectFacts out;
  out.ino = 99;
  out.mode = 0104751;
  out.uid = 7;
  out.gid = 8;
  out.mtime = -9;
  out.size = 10;
  return out;
}

std::optional<HiddenFile> read(std::string text, NodeId node = 5) {
  ManifestSection section;
  section.facts = {{"state-xxh3", "0123456789abcdef"}, {"kept", "6 damaged"}, {"kept", std::move(text)}};
  return hidden_file(section, "/d/m", node);
}

TEST(KeptFact, ComesBack) {
  const std::string text = kept_fact(5, facts(), kHash);
  EXPECT_EQ(text, "5 99 489 7 8 -9 10 fedcba98765432100123456789abcdef");
  const auto file = read(text);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->file, "/d/m.kept-99-fedcba9876543210");
  EXPECT_EQ(name_of_kept(*file), "m.kept-99-fedcba9876543210");
  EXPECT_EQ(file->hidden_name, ".vfsmend-kept-5-01234567");
  EXPECT_EQ(file->mode, 0751U) << "no setuid";
  EXPECT_EQ(file->uid, 7U);
  EXPECT_EQ(file->gid, 8U);
  EXPECT_EQ(file->mtime, -9);
  EXPECT_EQ(file->size, 10U);
  EXPECT_EQ(file->hash, kHash);
}

TEST(KeptFact, OfAnotherInodeOrNoneIsNotTaken) {
  EXPECT_FALSE(read(kept_fact(5, facts(), kHash), 4));
  EXPECT_FALSE(read(kept_fact(0, facts(), kHash), 0));
  EXPECT_FALSE(read(kept_fact(5, facts(), kHash), 6)) << "its fact is damaged";
}

TEST(KeptFact, DamagedAtAnyByteIsRefusedOrAnother) {
  const std::string text = kept_fact(5, facts(), kHash);
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(read(text.substr(0, i))) << i;
    std::string damaged = text;
    damaged[i] = 'x';
    EXPECT_FALSE(read(damaged)) << damaged;
  }
  EXPECT_FALSE(read(text + "0"));
  EXPECT_FALSE(read(text + " 0"));
}

TEST(KeptPath, TellsContentsApart) {
  EXPECT_NE(kept_path("m", 1, {5, 6}), kept_path("m", 1, {5, 7}));
  EXPECT_NE(kept_path("m", 1, {5, 6}), kept_path("m", 2, {5, 6}));
  EXPECT_EQ(kept_path("m", 1, {5, 6}), "m.kept-1-0000000000000006");
}

}  // namespace
}  // namespace vfsmend
