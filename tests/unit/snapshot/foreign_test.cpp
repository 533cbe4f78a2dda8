// SPDX-License-Identifier: Apache-2.0
// What is recognised and not read: the text must say what to do instead.
#include "snapshot/foreign.h"

#include <gmock/gmock.h>

#include "open_fixture.h"
#include "support/qemu_builder.h"

namespace vfsmend::test {
namespace {

using testing::HasSubstr;

Opened open_bytes(const std::string& bytes) {
  const TempDir dir;
  return open_path(dir.write("file", bytes));
}

std::string libvirt_save(std::uint32_t format, bool swapped, std::uint32_t data_len = 1000) {
  const auto number = [&](std::uint32_t n) {
    return swapped ? big_endian32(n) : little_endian32(n);
  };
  std::string out =
      "LibvirtQemudSave" + number(2) + number(data_len) + number(1) + number(format) + number(900);
  out.resize(92 + data_len);
  return out + "QEVM";
}

TEST(Foreign, LibvirtSaveFilesSayWhereTheStreamIs) {
  for (const bool swapped : {false, true}) {
    const Opened opened = open_bytes(libvirt_save(0, swapped));
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.code(), ErrorCode::kUnsupported);
    EXPECT_EQ(opened.recognised, ContainerKind::kLibvirt);
    EXPECT_THAT(opened.text(), HasSubstr("begins at byte 1092, format 0 (raw)"));
    EXPECT_THAT(opened.text(), HasSubstr("`vfsmend repair -n --extract STREAM FILE`"));
    EXPECT_THAT(opened.text(), HasSubstr("`tail -c +1093 FILE > STREAM`"));
  }
  EXPECT_THAT(
      open_bytes(libvirt_save(5, false)).text(),
      HasSubstr("format 5 (zstd): take it out with `tail -c +1093 FILE | zstd -dc > STREAM`"));
  EXPECT_THAT(open_bytes(libvirt_save(6, false)).text(), HasSubstr("sparse"));
  EXPECT_THAT(open_bytes(libvirt_save(7, false)).text(), HasSubstr("unknown format 7"));
}

TEST(Foreign, AnUnfinishedLibvirtSaveIsNamed) {
  std::string bytes = libvirt_save(0, false);
  bytes.replace(12, 4, "Part");
  const Opened opened = open_bytes(bytes);
  EXPECT_EQ(opened.code(), ErrorCode::kUnsupported);
  EXPECT_EQ(opened.recognised, ContainerKind::kLibvirt);
  EXPECT_THAT(opened.text(), HasSubstr("never finished"));
  EXPECT_THAT(open_bytes("LibvirtQemudSave").text(), HasSubstr("never finished"));
}

std::string big_endian64(std::uint64_t n) {
  return big_endian32(n >> 32) + big_endian32(n);
}

std::string qcow2_entry(const std::string& name, std::uint64_t vm_size, bool large) {
  const std::string extra =
      large ? big_endian64(vm_size) + big_endian64(1 << 20) + big_endian64(0) : "";
  std::string out = big_endian64(0x50000) + big_endian32(1) + std::string("\0\1", 2) + '\0' +
                    static_cast<char>(name.size()) + std::string(16, '\0') +
                    big_endian32(large ? 0 : vm_size) + big_endian32(extra.size()) + extra + "1" +
                    name;
  out.resize((out.size() + 7) / 8 * 8);
  return out;
}

std::string qcow2(const std::vector<std::string>& entries) {
  std::string out = "QFI\xfb" + big_endian32(3);
  out.resize(60);
  out += big_endian32(entries.size()) + big_endian64(512);
  out.resize(512);
  for (const std::string& entry : entries) out += entry;
  return out;
}

TEST(Foreign, AVmStateInAQcow2ImageIsNamed) {
  for (const bool large : {false, true}) {
    const Opened opened = open_bytes(
        qcow2({qcow2_entry("disk-only", 0, large), qcow2_entry("before", 77777, large)}));
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.code(), ErrorCode::kUnsupported);
    EXPECT_EQ(opened.recognised, ContainerKind::kQemu);
    EXPECT_THAT(opened.text(), HasSubstr("snapshot before"));
    EXPECT_THAT(opened.text(), HasSubstr("`vfsmend repair -n --extract STREAM FILE`"));
    EXPECT_THAT(opened.text(), HasSubstr("`-loadvm before` and `-S`"));
  }
}

TEST(Foreign, ADiskImageIsNoSnapshot) {
  for (const std::string& bytes :
       {qcow2({}), qcow2({qcow2_entry("disk-only", 0, true)}), std::string("QFI\xfb")}) {
    const Opened opened = open_bytes(bytes);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.code(), ErrorCode::kNotAState);
    EXPECT_FALSE(opened.recognised);
  }
}

TEST(Foreign, MultifdAndPackedFilesAreNamed) {
  const Opened multifd = open_bytes("\x11\x22\x33\x44 and more");
  EXPECT_EQ(multifd.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(multifd.text(), HasSubstr("multifd"));
  EXPECT_THAT(open_bytes("\x28\xb5\x2f\xfd...").text(), HasSubstr("zstd -dc"));
}

}  // namespace
}  // namespace vfsmend::test
