// SPDX-License-Identifier: Apache-2.0
// Streams inside other files: libvirt's, and scattered over the clusters of a qcow2 image.
#include "snapshot/vm_stream.h"

#include <gmock/gmock.h>

#include "support/vm_stream_builder.h"

namespace vfsmend::test {
namespace {

using testing::HasSubstr;

struct Found {
  std::string stream;  // whole; empty where there is none
  Error error;
};

Found find(const std::string& file, const std::string& wanted = "") {
  MemorySource source(as_bytes(file));
  auto stream = find_vm_stream(source, wanted);
  if (!stream) return {"", stream.error()};
  auto bytes = read_part(*stream->source, 0, stream->source->size());
  if (!bytes) return {"", bytes.error()};
  return {std::string(as_text(*bytes)), {}};
}

TEST(LibvirtStream, IsWhatLiesBehindTheHeader) {
  const std::string stream = a_stream(5000);
  EXPECT_EQ(find(libvirt_save(stream)).stream, stream);
  EXPECT_EQ(find(libvirt_save(stream, true)).stream, stream) << "saved on a host of the other byte order";
}

TEST(LibvirtStream, DamageIsNamedByItsByte) {
  const auto with = [&](std::size_t at, std::uint32_t number) {
    std::string bytes = libvirt_save(a_stream(100));
    put(bytes, at, little_endian32(number));
    return find(bytes).error.text;
  };
  EXPECT_THAT(with(16, 0), HasSubstr("byte 16: version 0"));
  EXPECT_THAT(with(16, 77), HasSubstr("byte 16: version 77"));
  EXPECT_THAT(with(20, 0), HasSubstr("byte 20: 0 bytes of XML"));
  EXPECT_THAT(with(20, 0xffffffff), HasSubstr("byte 20: 4294967295 bytes of XML"));
  EXPECT_THAT(with(20, 1001), HasSubstr("byte 1093: no QEMU stream begins here"));
  EXPECT_THAT(with(32, 1000), HasSubstr("byte 32: the cookie begins at 1000"));
  EXPECT_THAT(with(28, 1), HasSubstr("`tail -c +1093 FILE | gzip -dc > STREAM`"));
  EXPECT_THAT(with(28, 6), HasSubstr("sparse"));
  EXPECT_THAT(with(28, 7), HasSubstr("unknown format 7"));
  std::string part = libvirt_save(a_stream(100));
  part.replace(12, 4, "Part");
  EXPECT_THAT(find(part).error.text, HasSubstr("never finished"));
}

TEST(LibvirtStream, ATornFileIsAnErrorAtEveryLength) {
  const std::string whole = libvirt_save(a_stream(64));
  for (std::size_t size = 12; size < 92 + 1000 + 4; ++size) {
    EXPECT_NE(find(whole.substr(0, size)).error.text, "") << size;
  }
}

TEST(Qcow2Stream, IsReadThroughTheSnapshotsOwnTable) {
  const Qcow2Image image;
  EXPECT_EQ(find(image.bytes()).stream, image.stream);
  EXPECT_EQ(find(image.bytes(), "before").stream, image.stream);
  EXPECT_EQ(find(image.bytes(), "2").stream, image.stream) << "by its id";
  EXPECT_THAT(find(image.bytes(), "after").error.text, HasSubstr("no such VM state; there are before (id 2)"));
}

TEST(Qcow2Stream, SizeOfTheDiskIsRoundedUpToWholeTables) {
  Qcow2Image image;
  image.disk_size = 2 * Qcow2Image::kCluster * 64 + 1;
  EXPECT_EQ(find(image.bytes()).stream, image.stream);
}

TEST(Qcow2Stream, WhatHasNoClusterIsZero) {
  Qcow2Image image;
  std::string expected = image.stream;
  std::string bytes = image.bytes();
  put(bytes, 4 * Qcow2Image::kCluster + 5 * 8, big_endian64(0));
  std::fill_n(expected.begin() + 5 * Qcow2Image::kCluster, Qcow2Image::kCluster, '\0');
  put(bytes, 4 * Qcow2Image::kCluster + 6 * 8 + 7, "\1");  // the bit for zeros
  std::fill_n(expected.begin() + 6 * Qcow2Image::kCluster, Qcow2Image::kCluster, '\0');
  EXPECT_EQ(find(bytes).stream, expected);
  put(bytes, 2 * Qcow2Image::kCluster + 4 * 8, big_endian64(0));
  std::fill(expected.begin() + 64 * Qcow2Image::kCluster, expected.end(), '\0');
  EXPECT_EQ(find(bytes).stream, expected);
}

TEST(Qcow2Stream, DamageIsNamedByItsByte) {
  const auto with = [](std::size_t at, const std::string& what) {
    std::string bytes = Qcow2Image().bytes();
    put(bytes, at, what);
    return find(bytes).error.text;
  };
  constexpr std::uint64_t kCluster = Qcow2Image::kCluster;
  EXPECT_THAT(with(4, big_endian32(4)), HasSubstr("byte 4: version 4"));
  EXPECT_THAT(with(20, big_endian32(8)), HasSubstr("byte 20: cluster_bits is 8"));
  EXPECT_THAT(with(20, big_endian32(64)), HasSubstr("byte 20: cluster_bits is 64"));
  EXPECT_THAT(with(32, big_endian32(1)), HasSubstr("byte 32: an encrypted image"));
  EXPECT_THAT(with(60, big_endian32(0xffffffff)), HasSubstr("byte 60: 4294967295 snapshots"));
  EXPECT_THAT(with(64, big_endian64(~std::uint64_t{0} - 7)), HasSubstr("the file ends here"));
  EXPECT_THAT(with(72, big_endian64(2)), HasSubstr("byte 72: QEMU has marked the image as corrupt"));
  EXPECT_THAT(with(72, big_endian64(4)), HasSubstr("byte 72: the data lies in another file"));
  EXPECT_THAT(with(72, big_endian64(64)), HasSubstr("byte 72: unknown features 0x40"));
  EXPECT_THAT(with(4 * kCluster + 8, big_endian64(std::uint64_t{1} << 62)), HasSubstr("byte 2056: a compressed"));
  EXPECT_THAT(with(4 * kCluster + 8, big_endian64(std::uint64_t{1} << 50)), HasSubstr("byte 2056: a cluster at"));
  EXPECT_THAT(with(2 * kCluster + 24, big_endian64(std::uint64_t{1} << 50)), HasSubstr("the file ends here"));
  EXPECT_THAT(with(4 * kCluster, big_endian64(5 * kCluster)), HasSubstr("does not begin as a QEMU stream"));
}

TEST(Qcow2Stream, EntriesThatDoNotAddUpAreRefused) {
  Qcow2Image few;
  few.l1_entries = 4;
  EXPECT_THAT(find(few.bytes()).error.text, HasSubstr("a table of 4 entries at 1024, which holds no VM state"));
  Qcow2Image many;
  many.l1_entries = 0xffffffff;
  EXPECT_THAT(find(many.bytes()).error.text, HasSubstr("a table of 4294967295 entries"));
  Qcow2Image extra;
  extra.extra_size = 4000;
  EXPECT_THAT(find(extra.bytes()).error.text, HasSubstr("4000 bytes of extra data"));
  Qcow2Image old;
  old.extra_size = 8;
  EXPECT_THAT(find(old.bytes()).error.text, HasSubstr("without the disk's size"));
  Qcow2Image huge;
  std::string bytes = huge.bytes();
  const std::size_t size_at = Qcow2Image::kCluster + (40 + 16 + 10 + 7) / 8 * 8 + 40;
  put(bytes, size_at, big_endian64(std::uint64_t{1} << 60));
  EXPECT_THAT(find(bytes).error.text, HasSubstr("a VM state of 1152921504606846976 bytes in a file of"));
}

TEST(Qcow2Stream, OfSeveralStatesOneIsToBeNamed) {
  const Qcow2Image image;
  std::string bytes = image.bytes();
  put(bytes, Qcow2Image::kCluster, image.entry("disk-only", 0, "1") + image.entry("a\x1b[1m", 100, "2") +
                                  image.entry("b", image.stream.size(), "3"));
  put(bytes, 60, big_endian32(3));
  EXPECT_EQ(find(bytes).error.code, ErrorCode::kUsage);
  EXPECT_THAT(find(bytes).error.text, HasSubstr("say --vm-state NAME; there are a\\x1b[1m (id 2), b (id 3)"));
  EXPECT_EQ(find(bytes, "b").stream, image.stream);
}

TEST(Qcow2Stream, ATornFileIsAnErrorAtEveryLength) {
  const std::string whole = Qcow2Image().bytes();
  for (std::size_t size = 4; size < whole.size(); size += 13) {
    const Found found = find(whole.substr(0, size));
    EXPECT_NE(found.error.text, "") << size;
    EXPECT_EQ(found.stream, "") << size;
  }
}

TEST(VmStream, OtherFilesAreNamed) {
  EXPECT_THAT(find(a_stream(100)).error.text, HasSubstr("a QEMU stream already"));
  EXPECT_THAT(find("").error.text, HasSubstr("neither a libvirt save file nor a qcow2 image"));
  EXPECT_THAT(find(libvirt_save(a_stream(100)), "x").error.text, HasSubstr("--vm-state is for qcow2"));
}

}  // namespace
}  // namespace vfsmend::test
