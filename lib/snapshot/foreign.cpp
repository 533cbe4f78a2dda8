// SPDX-License-Identifier: Apache-2.0
#include "snapshot/foreign.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "snapshot/big_endian.h"

namespace vfsmend {
namespace {

constexpr std::string_view kLibvirt = "LibvirtQemudSave";
constexpr std::string_view kLibvirtPartial = "LibvirtQemudPart";

Foreign unsupported(std::optional<ContainerKind> kind, std::string text) {
  return {kind, Error{ErrorCode::kUnsupported, 0, std::move(text)}};
}

Foreign not_a_state(std::string text) {
  return {std::nullopt, Error{ErrorCode::kNotAState, 0, std::move(text)}};
}

// What libvirt's `save` writes. Numbers are in the order of the host that saved.
//
//   "LibvirtQemudSave" | "LibvirtQemudPart" (unfinished)  u32 version = 2  u32 data_len  u32
//   was_running u32 format  u32 cookie  unused up to 92    XML, NUL, cookie, zeros (data_len)
//   QEMU's stream
Foreign libvirt(Bytes head) {
  constexpr std::size_t kHeaderSize = 92;
  constexpr std::array<const char*, 7> kFormats = {"raw",  "gzip", "bzip2", "xz",
                                                   "lzop", "zstd", "sparse"};
  constexpr std::array<const char*, 6> kUnpackers = {"",         "| gzip -dc", "| bzip2 -dc",
                                                     "| xz -dc", "| lzop -dc", "| zstd -dc"};
  constexpr std::uint32_t kSparse = 6;
  if (as_text(head).starts_with(kLibvirtPartial) || head.size() < kHeaderSize) {
    return unsupported(ContainerKind::kLibvirt,
                       "a libvirt save file that was never finished: save the domain again");
  }
  const bool swapped = le32(head.data() + 16) > 2;
  const auto number = [&](std::size_t at) {
    return swapped ? be32(head.data() + at) : le32(head.data() + at);
  };
  const std::uint64_t stream = kHeaderSize + std::uint64_t{number(20)};
  const std::uint32_t format = number(28);
  if (format == kSparse) {
    return unsupported(ContainerKind::kLibvirt,
                       "a libvirt save file of format 6 (sparse, a mapped-ram stream) is not read "
                       "by this version: save it with image format raw");
  }
  if (format >= kFormats.size()) {
    return unsupported(ContainerKind::kLibvirt,
                       fmt::format("a libvirt save file of an unknown format {}", format));
  }
  return unsupported(
      ContainerKind::kLibvirt,
      fmt::format("a libvirt save file is not read as it is; the QEMU stream in it begins "
                  "at byte {}, format {} ({}): take it out with {}`tail -c +{} FILE {}> STREAM` and "
                  "give STREAM",
                  stream, format, kFormats[format],
                  format == 0 ? "`vfsmend repair -n --extract STREAM FILE`, or " : "", stream + 1,
                  format == 0 ? "" : fmt::format("{} ", kUnpackers[format])));
}

// The name of the first snapshot in a qcow2 image that has a VM state; nothing if none has. The
// table is read as far as it makes sense.
std::optional<std::string> first_vm_state(ByteSource& source, std::uint64_t at,
                                          std::uint32_t count) {
  constexpr std::uint32_t kMostRead = 256;
  constexpr std::uint64_t kEntrySize = 40;
  for (std::uint32_t i = 0; i < std::min(count, kMostRead); ++i) {
    const auto entry = read_part(source, at, kEntrySize);
    if (!entry) return std::nullopt;
    const std::uint8_t* e = entry->data();
    const std::uint64_t id_size = be32(e + 12) >> 16;
    const std::uint64_t name_size = be32(e + 12) & 0xffff;
    const std::uint64_t extra_size = be32(e + 36);
    const auto rest = extra_size <= 1024
                          ? read_part(source, at + kEntrySize, extra_size + id_size + name_size)
                          : fail(ErrorCode::kLimit, "");
    if (!rest) return std::nullopt;
    const std::uint64_t vm_size = extra_size >= 8 ? be64(rest->data()) : be32(e + 32);
    if (vm_size > 0) return printable(as_text(*rest).substr(extra_size + id_size, name_size));
    at += (kEntrySize + rest->size() + 7) / 8 * 8;
  }
  return std::nullopt;
}

Foreign qcow2(ByteSource& source, Bytes head) {
  constexpr std::size_t kHeaderSize = 72;
  const std::uint32_t count = head.size() >= kHeaderSize ? be32(head.data() + 60) : 0;
  const auto name =
      count > 0 ? first_vm_state(source, be64(head.data() + 64), count) : std::nullopt;
  if (!name) {
    return not_a_state("a qcow2 disk image without a VM state");
  }
  return unsupported(
      ContainerKind::kQemu,
      fmt::format(
          "a VM state inside a qcow2 image (snapshot {}) is not read as it is: take it out with "
          "`vfsmend repair -n --extract STREAM FILE` and give STREAM; or "
          "start the VM with `-loadvm {}` and `-S`, and write it out with `migrate file:STREAM` "
          "(`qemu-img snapshot -l` lists the snapshots)",
          *name, *name));
}

struct Packed {
  std::string_view magic;
  const char* name;
  const char* unpack;
};
constexpr std::array kPacked = {
    Packed{"\x1f\x8b", "gzip", "gzip -dc"},
    Packed{std::string_view("\xfd"
                            "7zXZ\0",
                            6),
           "xz", "xz -dc"},
    Packed{"\x28\xb5\x2f\xfd", "zstd", "zstd -dc"},
    Packed{"BZh", "bzip2", "bzip2 -dc"},
};

}  // namespace

std::optional<Foreign> recognise_foreign(ByteSource& source, Bytes head) {
  const std::string_view text = as_text(head);
  if (text.starts_with(kLibvirt) || text.starts_with(kLibvirtPartial)) return libvirt(head);
  if (text.starts_with("QFI\xfb")) return qcow2(source, head);
  if (text.starts_with("\x11\x22\x33\x44")) {
    return unsupported(ContainerKind::kQemu,
                       "a channel of a multifd migration is not read by this version: migrate "
                       "again without the capability multifd");
  }
  for (const Packed& packed : kPacked) {
    if (!text.starts_with(packed.magic)) continue;
    return unsupported(std::nullopt, fmt::format("compressed with {}: unpack it with `{}` first",
                                                 packed.name, packed.unpack));
  }
  if (text.starts_with('{') && text.find("\"snapshots\"") != std::string_view::npos) {
    return not_a_state("a state.json: give the snapshot directory that holds it");
  }
  return std::nullopt;
}

}  // namespace vfsmend
