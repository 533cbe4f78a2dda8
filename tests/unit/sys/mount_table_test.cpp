// SPDX-License-Identifier: Apache-2.0
#include "sys/mount_table.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"

namespace vfsmend::sys {
namespace {

std::string line(int id, const std::string& listed_point, const std::string& options = "rw",
                 const std::string& fs_type = "ext4", const std::string& super = "rw") {
  return std::to_string(id) + " 35 98:0 / " + listed_point + " " + options + " master:1 - " + fs_type +
         " /dev/root " + super + "\n";
}

TEST(MountTable, FieldsOfALine) {
  const MountTable table = parse_mount_table(
      "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:7 - ext3 /dev/root ro,errors=continue\n"
      "40 36 0:3 / /proc ro,nosuid - fuse.s3fs none rw\n");
  ASSERT_EQ(table.size(), 2U);
  const Mount& first = table.at(36);
  EXPECT_EQ(first.id, 36U);
  EXPECT_EQ(first.mount_point, "/mnt2");
  EXPECT_EQ(first.listed_root, "/mnt1");
  EXPECT_EQ(first.fs_type, "ext3");
  EXPECT_FALSE(first.mount_read_only);
  EXPECT_TRUE(first.super_read_only);
  const Mount& second = table.at(40);
  EXPECT_EQ(second.fs_type, "fuse.s3fs");
  EXPECT_TRUE(second.mount_read_only);
  EXPECT_FALSE(second.super_read_only);
}

TEST(MountTable, AnOptionIsAWholeWord) {
  const MountTable table = parse_mount_table(line(1, "/a", "rw,errors=ro", "ext4", "rw,ro_x,xro"));
  EXPECT_FALSE(table.at(1).mount_read_only);
  EXPECT_FALSE(table.at(1).super_read_only);
}

TEST(MountTable, LinesThatAreNoneArePassedOver) {
  const MountTable table = parse_mount_table("\n \nx 35 98:0 / /a rw - ext4 /dev/root rw\n"
                                             "36 35 98:0 / /a rw master:1 ext4 /dev/root rw\n"
                                             "36 35 98:0 / /a rw - ext4\n" + line(7, "/b"));
  ASSERT_EQ(table.size(), 1U);
  EXPECT_EQ(table.at(7).mount_point, "/b");
}

TEST(MountTable, EscapesAreKeptAndUndone) {
  const std::string listed_point = R"(/a\040b\011c\012d\134e)";
  const MountTable table = parse_mount_table(line(1, listed_point));
  EXPECT_EQ(table.at(1).listed_point, listed_point);
  EXPECT_EQ(table.at(1).mount_point, "/a b\tc\nd\\e");
  EXPECT_EQ(listed("/a b\tc\nd\\e"), listed_point);
}

TEST(MountTable, WhatOnlyLooksLikeAnEscapeIsNone) {
  // Backslashes are escaped themselves, so that the name \040 is none of a blank.
  EXPECT_EQ(listed(R"(/\040)"), R"(/\134040)");
  const MountTable table = parse_mount_table(line(1, R"(/\134040)") + line(2, R"(/\04)") +
                                             line(3, R"(/\)") + line(4, R"(/\8888)"));
  EXPECT_EQ(table.at(1).mount_point, R"(/\040)");
  EXPECT_EQ(table.at(2).mount_point, R"(/\04)");
  EXPECT_EQ(table.at(3).mount_point, R"(/\)");
  EXPECT_EQ(table.at(4).mount_point, R"(/\8888)");
}

RC_GTEST_PROP(MountTable, ListedAndTheEscapesAreInverse, ()) {
  // Any bytes but NUL, and those that are escaped often.
  const auto byte = rc::gen::oneOf(rc::gen::elementOf(std::string(" \t\n\\0174")),
                                   rc::gen::suchThat(rc::gen::arbitrary<char>(),
                                                     [](char c) { return c != '\0'; }));
  const std::string path = "/" + *rc::gen::container<std::string>(byte);
  const MountTable table = parse_mount_table(line(1, listed(path)));
  RC_ASSERT(table.size() == 1U);
  RC_ASSERT(table.at(1).mount_point == path);
  RC_ASSERT(table.at(1).listed_point == listed(path));
  RC_ASSERT(table.at(1).utf8 == is_utf8(path));
}

TEST(MountTable, ALineThatIsNotUtf8IsMarked) {
  const MountTable table = parse_mount_table(line(1, "/caf\xc3\xa9") + line(2, "/caf\xe9") +
                                             line(3, "/a", "rw", "ext4", "rw,name=\xff"));
  EXPECT_TRUE(table.at(1).utf8);
  EXPECT_FALSE(table.at(2).utf8);
  EXPECT_EQ(table.at(2).mount_point, "/caf\xe9");
  EXPECT_FALSE(table.at(3).utf8) << "the whole line counts";
}

TEST(MountTable, OfThisProcess) {
  const auto table = read_mount_table(kernel());
  ASSERT_TRUE(table) << table.error().text;
  struct statx stat {};
  ASSERT_EQ(kernel().statx(AT_FDCWD, "/proc", 0, STATX_MNT_ID, stat), 0);
  ASSERT_TRUE(table->contains(stat.stx_mnt_id));
  EXPECT_EQ(table->at(stat.stx_mnt_id).mount_point, "/proc");
  EXPECT_EQ(table->at(stat.stx_mnt_id).fs_type, "proc");
}

}  // namespace
}  // namespace vfsmend::sys
