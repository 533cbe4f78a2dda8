// SPDX-License-Identifier: Apache-2.0
// Manifests for tests and benchmarks, and files of them with something wrong inside.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "manifest/blocks.h"
#include "manifest/little_endian.h"
#include "manifest/manifest_file.h"

namespace vfsmend::test {

inline ByteVector encoded(const Manifest& manifest) {
  auto file = encode_manifest(manifest);
  VFSMEND_CHECK(file);
  return *std::move(file);
}

// Appends an entry whose times are `time`, and whose handle is like ext4's.
inline void add_entry(EntryTable& e, std::uint32_t parent, std::string_view name,
                      std::uint32_t mode, std::uint64_t ino, std::int64_t time = 1'700'000'000,
                      std::uint32_t generation = 77) {
  e.parent.push_back(parent);
  e.name.add(name);
  e.node.push_back(e.node.size() + 1);
  e.mode.push_back(mode);
  e.uid.push_back(1000);
  e.gid.push_back(1000);
  e.nlink.push_back(1);
  e.size.push_back(4096);
  e.device.push_back(0);
  e.ino.push_back(ino);
  e.rdev.push_back(0);
  e.mtime.push_back(time);
  e.ctime.push_back(time);
  e.btime.push_back(time);
  e.handle_type.push_back(1);
  ByteVector handle;
  append_le(handle, static_cast<std::uint32_t>(ino));
  append_le(handle, generation);
  e.handle.add(as_text(handle));
  e.xattrs.push_back(0);
  e.target.add("");
  e.notes.push_back(0);
}

// A root, a directory, two files and a link.
inline ManifestSection small_section(bool with_hash) {
  ManifestSection out;
  out.device = "virtio_rw";
  out.share = "/srv/share";
  out.real_share = "/srv/share-1";
  out.fs_magic = 0xef53;
  out.whole_tree = true;
  out.facts = {{"state-xxh3", "00"}, {"profile", "cube"}};
  out.devices = {0xfe00};
  out.xattr_sets = {{}, {{"security.selinux", "s0"}, {"user.a", std::string("\0\xff", 2)}}};
  out.mounts = {{29, "", "ext4", "/dev/vda1", "rw;ro,errors=continue", false, true}};
  EntryTable& e = out.entries;
  add_entry(e, kNoParent, "", 040755, 2);
  add_entry(e, 0, "lib", 040755, 11);
  add_entry(e, 1, "libm.so.6", 0100755, 12);
  add_entry(e, 1, "libmvec.so.1", 0100644, 13, kNoTime);
  add_entry(e, 0, "lib64", 0120777, 14);
  e.xattrs[2] = 1;
  e.notes[2] = kHasHash | kOpen;
  if (with_hash) e.hash.assign(e.size_of(), {0, 0});
  if (with_hash) e.hash[2] = {0x0123456789abcdef, 0xfedcba9876543210};
  return out;
}

inline Manifest small_manifest() {
  Manifest out;
  out.facts = {{"tool", "vfsmend"}, {"time", "2026-01-01T00:00:00Z"}};
  out.sections = {small_section(true), small_section(false)};
  out.sections[1].device = "";
  return out;
}

// Sorted, as a walk finds them.
inline std::vector<std::string> ten_names(std::mt19937_64& random) {
  constexpr std::string_view kWords[] = {"lib", "core", "util", "test", "data", "doc",
                                         "main", "io", "net", "locale", "config", "x86"};
  constexpr std::string_view kEndings[] = {".so.1", ".py", ".h",   ".png",
                                           ".txt",  "",    ".mo", ".json"};
  std::vector<std::string> names(10);
  for (std::string& name : names) {
    name.append(kWords[random() % 12]).append("_").append(kWords[random() % 12]);
    name.append(std::to_string(random() % 1000)).append(kEndings[random() % 8]);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A tree as packages leave one on ext4: ten entries in a directory, a tenth of them directories,
// files of a package with one time, inode numbers in about the order of the names, generations
// random.
inline Manifest synthetic_tree(std::uint32_t entries) {
  std::mt19937_64 random(1);
  Manifest out;
  ManifestSection& section = out.sections.emplace_back();
  section.whole_tree = true;
  section.devices = {0xfe00};
  section.xattr_sets = {{}};
  EntryTable& e = section.entries;
  add_entry(e, kNoParent, "", 040755, 2);
  std::vector<std::string> names;
  std::int64_t package = 1'600'000'000;  // s
  std::int64_t made = 1'750'000'000'000'000'000;
  for (std::uint32_t i = 1; i < entries; ++i) {
    const std::uint32_t place = (i - 1) % 10;
    if (place == 0) names = ten_names(random);
    if (i % 50 == 1) package += static_cast<std::int64_t>(random() % 5'000'000);
    if (i % 8 == 0) made += 4'000'000;  // a tick of the kernel's clock
    const bool directory = i < entries / 10;
    add_entry(e, (i - 1) / 10, names[place], directory ? 040755 : 0100644, 1000 + (i ^ (i % 4)),
              package * 1'000'000'000, static_cast<std::uint32_t>(random()));
    e.size.back() = directory ? 4096 : random() >> (46 + random() % 18);
    e.btime.back() = made;
    e.ctime.back() = made + 12'000'000;
    e.node.back() = 0;
  }
  return out;
}

// A block with its bytes expanded, to be changed and put together again.
struct LooseBlock {
  BlockKind kind = BlockKind::kFacts;
  std::uint32_t section = 0;
  ByteVector raw;
};

inline std::vector<LooseBlock> take_apart(Bytes file) {
  std::vector<LooseBlock> out;
  const auto blocks = read_blocks(file);
  VFSMEND_CHECK(blocks);
  Unpacker unpacker(*blocks);
  for (const Block& block : *blocks) {
    const auto raw = unpacker.unpack(block);
    VFSMEND_CHECK(raw);
    out.push_back({block.kind, block.section, ByteVector(raw->begin(), raw->end())});
  }
  return out;
}

inline ByteVector put_together(const std::vector<LooseBlock>& blocks) {
  BlockWriter out;
  for (const LooseBlock& block : blocks) out.add(block.kind, block.section, block.raw);
  return out.finish();
}

inline void set_le(ByteVector& file, std::size_t at, std::uint64_t value, std::size_t bytes = 8) {
  for (std::size_t i = 0; i < bytes; ++i) {
    file[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
}

// Makes magic, version, file size and every checksum right, as far as the table goes.
inline void repair_checksums(ByteVector& file) {
  if (file.size() < kManifestHeader + kManifestSum) return;
  std::copy(kManifestMagic.begin(), kManifestMagic.end(), file.begin());
  set_le(file, 8, kManifestVersion, 4);
  set_le(file, 16, file.size());
  const std::size_t most = (file.size() - kManifestHeader - kManifestSum) / kManifestEntry;
  const auto count = std::min<std::size_t>(le_at<std::uint32_t>(file, 12), most);
  set_le(file, 12, count, 4);
  const std::size_t head = kManifestHeader + count * kManifestEntry;
  std::size_t offset = head + kManifestSum;
  for (std::size_t at = kManifestHeader; at < head; at += kManifestEntry) {
    const auto stored = le_at<std::uint64_t>(file, at + 16);
    if (stored > file.size() - offset) break;
    set_le(file, at + 24, manifest_checksum(Bytes(file).subspan(offset, stored)));
    offset += stored;
  }
  set_le(file, head, manifest_checksum(Bytes(file).first(head)));
}

}  // namespace vfsmend::test
