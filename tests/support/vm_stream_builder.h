// SPDX-License-Identifier: Apache-2.0
// Files that hold a QEMU stream in them: libvirt's, and a qcow2 image with a VM state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/qemu_builder.h"

namespace vfsmend::test {

inline std::string big_endian64(std::uint64_t n) { return big_endian32(n >> 32) + big_endian32(n & 0xffffffff); }

inline void put(std::string& bytes, std::size_t at, std::string_view what) {
  if (bytes.size() < at + what.size()) bytes.resize(at + what.size());
  bytes.replace(at, what.size(), what);
}

// Bytes that begin as a stream and do not repeat.
inline std::string a_stream(std::size_t size) {
  std::string out = "QEVM" + big_endian32(3);
  for (std::size_t i = 0; out.size() < size; ++i) out += static_cast<char>(i * 7 + i / 251);
  return out;
}

inline std::string libvirt_save(const std::string& stream, bool swapped = false) {
  const auto number = [&](std::uint32_t n) { return swapped ? big_endian32(n) : little_endian32(n); };
  std::string out = "LibvirtQemudSave" + number(2) + number(1000) + number(1) + number(0) + number(900);
  out.resize(92 + 1000);
  return out + stream;
}

// An image of 512-byte clusters: 0 header, 1 the snapshots, 2 the l1 of both, 4 and 5 its l2, and behind
// them the data, the last cluster of the stream first.
struct Qcow2Image {
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

}  // namespace vfsmend::test
