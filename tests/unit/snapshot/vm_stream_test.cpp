// SPDX-License-Identifier: Apache-2.0
// Streams inside other files: libvirt's, and scattered over the clusters of a qcow2 image.
#include "snapshot/vm_stream.h"

#include <gmock/gmock.h>

#include "support/qemu_builder.h"

namespace vfsmend::test {
namespace {

using testing::HasSubstr;

std::string big_endian64(std::uint64_t n) { return big_endian32(n >> 32) + big_endian32(n & 0xffffffff); }

void put(std::string& bytes, std::size_t at, std::string_view what) {
  if (bytes.size() < at + what.size()) bytes.resize(at + what.size());
  bytes.replace(at, what.size(), what);
}

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

std::string a_stream(std::size_t size) {
  std::string out = "QEVM" + big_endian32(3);
  for (std::size_t i = 0; out.size() < size; ++i) out += static_cast<char>(i * 7 + i / 251);
  return out;
}

std::string libvirt_save(const std::string& stream, bool swapped = false) {
  const auto number = [&](std::uint32_t n) { return swapped ? big_endian32(n) : little_endian32(n); };
  std::string out = "LibvirtQemudSave" + number(2) + number(1000) + number(1) + number(0) + number(900);
  out.resize(92 + 1000);
  return out + stream;
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

// An image of 512-byte clusters: 0 header, 1 snapshot table, 2 and 3 its l1, 4 an l2, 5.. data, in an
// order that is not the state's.
struct Image {
  static constexpr std::uint64_t kCluster = 512;
  std::uint64_t entries = kCluster / 8;  // of an l2 table
  std::uint64_t disk_size = 3 * kCluster * 64;  // l2 tables 0 to 2 of the disk
  std::uint64_t l1_entries = 6;
  std::uint64_t extra_size = 16;
  std::uint64_t features = 0;
  std::string stream = a_stream(kCluster * 70 + 77);
  std::string name = "before";

  [[nodiscard]] std::string entry(const std::string& title, std::uint64_t size, const std::string& id) const {
    std::string out = big_endian64(2 * kCluster) + big_endian32(l1_entries) + '\0' + static_cast<char>(id.size()) +
                      '\0' + static_cast<char>(title.size()) + std::string(16, '\0') + big_endian32(7) +
                      big_endian32(extra_size);
    std::string extra = big_endian64(size) + big_endian64(disk_size);
    extra.resize(extra_size);
    out += extra + id + title;
    out.resize((out.size() + 7) / 8 * 8);
    return out;
  }

  [[nodiscard]] std::string bytes() const {
    std::string out = "QFI\xfb" + big_endian32(3);
    put(out, 20, big_endian32(9));
    put(out, 60, big_endian32(2) + big_endian64(kCluster));
    put(out, 72, big_endian64(features));
    put(out, kCluster, entry("disk-only", 0, "1") + entry(name, stream.size(), "2"));
    const std::uint64_t clusters = (stream.size() + kCluster - 1) / kCluster;
    put(out, 2 * kCluster + 3 * 8, big_endian64(4 * kCluster | std::uint64_t{1} << 63) + big_endian64(5 * kCluster));
    for (std::uint64_t i = 0; i < clusters; ++i) {
      const std::uint64_t place = (6 + clusters - 1 - i) * kCluster;  // the last comes first
      put(out, (4 + i / entries) * kCluster + i % entries * 8, big_endian64(place));
      put(out, place, stream.substr(i * kCluster, kCluster));
    }
    out.resize((out.size() + kCluster - 1) / kCluster * kCluster);
    return out;
  }
};

TEST(Qcow2Stream, IsReadThroughTheSnapshotsOwnTable) {
  const Image image;
  EXPECT_EQ(find(image.bytes()).stream, image.stream);
  EXPECT_EQ(find(image.bytes(), "before").stream, image.stream);
  EXPECT_EQ(find(image.bytes(), "2").stream, image.stream) << "by its id";
  EXPECT_THAT(find(image.bytes(), "after").error.text, HasSubstr("no such VM state; there are before (id 2)"));
}

TEST(Qcow2Stream, SizeOfTheDiskIsRoundedUpToWholeTables) {
  Image image;
  image.disk_size = 2 * Image::kCluster * 64 + 1;
  EXPECT_EQ(find(image.bytes()).stream, image.stream);
}

TEST(Qcow2Stream, WhatHasNoClusterIsZero) {
  Image image;
  std::string expected = image.stream;
  std::string bytes = image.bytes();
  put(bytes, 4 * Image::kCluster + 5 * 8, big_endian64(0));
  std::fill_n(expected.begin() + 5 * Image::kCluster, Image::kCluster, '\0');
  put(bytes, 4 * Image::kCluster + 6 * 8 + 7, "\1");  // the bit for zeros
  std::fill_n(expected.begin() + 6 * Image::kCluster, Image::kCluster, '\0');
  EXPECT_EQ(find(bytes).stream, expected);
  put(bytes, 2 * Image::kCluster + 4 * 8, big_endian64(0));
  std::fill(expected.begin() + 64 * Image::kCluster, expected.end(), '\0');
  EXPECT_EQ(find(bytes).stream, expected);
}

TEST(Qcow2Stream, DamageIsNamedByItsByte) {
  const auto with = [](std::size_t at, const std::string& what) {
    std::string bytes = Image().bytes();
    put(bytes, at, what);
    return find(bytes).error.text;
  };
  constexpr std::uint64_t kCluster = Image::kCluster;
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
  Image few;
  few.l1_entries = 4;
  EXPECT_THAT(find(few.bytes()).error.text, HasSubstr("a table of 4 entries at 1024, which holds no VM state"));
  Image many;
  many.l1_entries = 0xffffffff;
  EXPECT_THAT(find(many.bytes()).error.text, HasSubstr("a table of 4294967295 entries"));
  Image extra;
  extra.extra_size = 4000;
  EXPECT_THAT(find(extra.bytes()).error.text, HasSubstr("4000 bytes of extra data"));
  Image old;
  old.extra_size = 8;
  EXPECT_THAT(find(old.bytes()).error.text, HasSubstr("without the disk's size"));
  Image huge;
  std::string bytes = huge.bytes();
  const std::size_t size_at = Image::kCluster + (40 + 16 + 10 + 7) / 8 * 8 + 40;
  put(bytes, size_at, big_endian64(std::uint64_t{1} << 60));
  EXPECT_THAT(find(bytes).error.text, HasSubstr("a VM state of 1152921504606846976 bytes in a file of"));
}

TEST(Qcow2Stream, OfSeveralStatesOneIsToBeNamed) {
  const Image image;
  std::string bytes = image.bytes();
  put(bytes, Image::kCluster, image.entry("disk-only", 0, "1") + image.entry("a\x1b[1m", 100, "2") +
                                  image.entry("b", image.stream.size(), "3"));
  put(bytes, 60, big_endian32(3));
  EXPECT_EQ(find(bytes).error.code, ErrorCode::kUsage);
  EXPECT_THAT(find(bytes).error.text, HasSubstr("say --vm-state NAME; there are a\\x1b[1m (id 2), b (id 3)"));
  EXPECT_EQ(find(bytes, "b").stream, image.stream);
}

TEST(Qcow2Stream, ATornFileIsAnErrorAtEveryLength) {
  const std::string whole = Image().bytes();
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
