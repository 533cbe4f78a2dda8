// SPDX-License-Identifier: Apache-2.0
// The VM state of an internal snapshot in a qcow2 image. Big-endian:
//
//   header    "QFI\xfb"  4 version = 2, 3   20 u32 cluster_bits   32 u32 encryption   60 u32 snapshots
//             64 u64 their table   version 3: 72 u64 incompatible features
//   snapshot  0 u64 l1  8 u32 l1_entries  12 u16 id_size  14 u16 name_size  32 u32 vm_size  36 u32
//             extra_size  40 extra: u64 vm_size (wins)  u64 disk_size ..   id  name   padded to 8
//   l1 entry  bits 9..55: an l2 table of one cluster, or 0
//   l2 entry  bits 9..55: a cluster, bit 62 compressed, bit 0 zeros; with feature 4 a second u64: a bit
//             for each of 32 subclusters that is there, in the upper half for one that is zeros
//
// The state lies in the snapshot's own table, behind the l2 tables that the disk takes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/text.h"
#include "snapshot/big_endian.h"
#include "snapshot/qemu.h"
#include "snapshot/vm_stream.h"

namespace vfsmend {
namespace {

constexpr std::uint64_t kOffsetBits = 0x00fffffffffffe00;
constexpr std::uint64_t kCompressed = std::uint64_t{1} << 62;
constexpr std::uint64_t kZeros = 1;
constexpr std::uint64_t kDirty = 1;
constexpr std::uint64_t kCorrupt = 2;
constexpr std::uint64_t kExternalData = 4;
constexpr std::uint64_t kCompressionType = 8;
constexpr std::uint64_t kExtendedL2 = 16;
constexpr std::uint32_t kMostSnapshots = 65536;          // QEMU's own bounds
constexpr std::uint64_t kMostTableBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostL1Entries = std::uint64_t{4} << 20;
constexpr std::uint32_t kMostExtra = 1024;
constexpr unsigned kSubclusters = 32;

tl::unexpected<Error> broken(std::uint64_t byte, const std::string& text) {
  return fail(ErrorCode::kFormat, fmt::format("byte {}: {}", byte, text));
}

struct Header {
  std::uint64_t cluster = 0;  // bytes
  std::uint32_t snapshots = 0;
  std::uint64_t table = 0;  // of the snapshots
  bool extended = false;    // entries of 16 bytes
  [[nodiscard]] std::uint64_t l2_entries() const { return cluster / (extended ? 16 : 8); }
};

struct Entry {
  std::uint64_t at = 0;  // its entry in the file
  std::uint64_t l1 = 0;
  std::uint32_t l1_entries = 0;
  std::uint64_t vm_size = 0;
  std::optional<std::uint64_t> disk_size;
  std::string id;
  std::string name;
};

Result<std::uint64_t> features_of(ByteSource& file, std::uint32_t version) {
  if (version == 2) return 0;
  VFSMEND_TRY_ASSIGN(const ByteVector bytes, read_part(file, 72, 8));
  const std::uint64_t features = be64(bytes.data());
  if ((features & kCorrupt) != 0) {
    return broken(72, "QEMU has marked the image as corrupt: `qemu-img check` it first");
  }
  if ((features & kExternalData) != 0) {
    return fail(ErrorCode::kUnsupported, "byte 72: the data lies in another file, which this version does not read");
  }
  if ((features & ~(kDirty | kCompressionType | kExtendedL2)) != 0) {
    return fail(ErrorCode::kUnsupported, fmt::format("byte 72: unknown features {:#x}", features));
  }
  return features;
}

Result<Header> read_header(ByteSource& file) {
  VFSMEND_TRY_ASSIGN(const ByteVector head, read_part(file, 0, 72));
  const std::uint32_t version = be32(head.data() + 4);
  if (version != 2 && version != 3) {
    return fail(ErrorCode::kUnsupported, fmt::format("byte 4: version {} of qcow2; 2 and 3 are known", version));
  }
  const std::uint32_t bits = be32(head.data() + 20);
  if (bits < 9 || bits > 21) return broken(20, fmt::format("cluster_bits is {}, and not 9 to 21", bits));
  if (be32(head.data() + 32) != 0) {
    return fail(ErrorCode::kUnsupported, "byte 32: an encrypted image is not read by this version");
  }
  VFSMEND_TRY_ASSIGN(const std::uint64_t features, features_of(file, version));
  Header out{std::uint64_t{1} << bits, be32(head.data() + 60), be64(head.data() + 64), (features & kExtendedL2) != 0};
  if (out.snapshots > kMostSnapshots) {
    return broken(60, fmt::format("{} snapshots, and {} are the most", out.snapshots, kMostSnapshots));
  }
  if (out.extended && bits < 14) return broken(20, "clusters that are too small for subclusters");
  return out;
}

Result<Entry> read_entry(ByteSource& file, std::uint64_t at, std::uint64_t& next) {
  constexpr std::uint64_t kEntrySize = 40;
  VFSMEND_TRY_ASSIGN(const ByteVector entry, read_part(file, at, kEntrySize));
  const std::uint8_t* e = entry.data();
  const std::uint64_t id_size = be32(e + 12) >> 16;
  const std::uint64_t name_size = be32(e + 12) & 0xffff;
  const std::uint32_t extra_size = be32(e + 36);
  if (extra_size > kMostExtra) return broken(at + 36, fmt::format("{} bytes of extra data", extra_size));
  VFSMEND_TRY_ASSIGN(const ByteVector rest, read_part(file, at + kEntrySize, extra_size + id_size + name_size));
  Entry out;
  out.at = at;
  out.l1 = be64(e);
  out.l1_entries = be32(e + 8);
  out.vm_size = extra_size >= 8 ? be64(rest.data()) : be32(e + 32);
  if (extra_size >= 16) out.disk_size = be64(rest.data() + 8);
  out.id = as_text(rest).substr(extra_size, id_size);
  out.name = as_text(rest).substr(extra_size + id_size, name_size);
  next = at + (kEntrySize + rest.size() + 7) / 8 * 8;
  return out;
}

Result<std::vector<Entry>> with_vm_state(ByteSource& file, const Header& header) {
  std::vector<Entry> out;
  std::uint64_t at = header.table;
  for (std::uint32_t i = 0; i < header.snapshots; ++i) {
    VFSMEND_TRY_ASSIGN(Entry snapshot, read_entry(file, at, at));
    if (at - header.table > kMostTableBytes) {
      return broken(header.table, fmt::format("a table of snapshots of more than {} bytes", kMostTableBytes));
    }
    if (snapshot.vm_size > 0) out.push_back(std::move(snapshot));
  }
  return out;
}

class VmState final : public ByteSource {
 public:
  VmState(ByteSource& file, const Header& header, Entry snapshot, std::uint64_t first)
      : file_(file), header_(header), snapshot_(std::move(snapshot)), first_(first) {}

  [[nodiscard]] std::uint64_t size() const override { return snapshot_.vm_size; }

  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::uint8_t> out) override {
    if (offset > size() || out.size() > size() - offset) {
      return fail(ErrorCode::kFormat, fmt::format("the VM state ends at its byte {}; expected {} bytes from {}", size(),
                                                  out.size(), offset));
    }
    const std::uint64_t unit = header_.extended ? header_.cluster / kSubclusters : header_.cluster;
    while (!out.empty()) {
      const std::uint64_t count = std::min<std::uint64_t>(out.size(), unit - offset % unit);
      VFSMEND_TRY_ASSIGN(const std::optional<std::uint64_t> place, find(offset));
      if (place) {
        VFSMEND_TRY(file_.read(*place, out.first(count)));
      } else {
        std::ranges::fill(out.first(count), std::uint8_t{0});
      }
      out = out.subspan(count);
      offset += count;
    }
    return {};
  }

 private:
  // Where a byte of the state lies in the file; nothing: it is a zero.
  Result<std::optional<std::uint64_t>> find(std::uint64_t offset) {
    const std::uint64_t cluster = offset / header_.cluster;
    VFSMEND_TRY(load_table(first_ + cluster / header_.l2_entries()));
    if (table_.empty()) return std::nullopt;
    const std::uint64_t step = header_.extended ? 16 : 8;
    const std::uint64_t at = cluster % header_.l2_entries() * step;
    const std::uint64_t entry = be64(table_.data() + at);
    if ((entry & kCompressed) != 0) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("byte {}: a compressed cluster in a VM state", table_at_ + at));
    }
    if (header_.extended) {
      const unsigned bit = static_cast<unsigned>(offset % header_.cluster / (header_.cluster / kSubclusters));
      const std::uint64_t bits = be64(table_.data() + at + 8);
      if ((bits >> bit & 1) == 0 || (bits >> (kSubclusters + bit) & 1) != 0) return std::nullopt;
    } else if ((entry & kZeros) != 0) {
      return std::nullopt;
    }
    const std::uint64_t place = entry & kOffsetBits;
    if (place == 0) return std::nullopt;
    if (place % header_.cluster != 0 || place >= file_.size()) {
      return broken(table_at_ + at, fmt::format("a cluster at {}, which is no cluster of the file", place));
    }
    return place + offset % header_.cluster;
  }

  // The table of one l1 entry; none where it has none.
  Result<void> load_table(std::uint64_t index) {
    if (index == loaded_) return {};
    const std::uint64_t at = snapshot_.l1 + index * 8;
    VFSMEND_TRY_ASSIGN(const ByteVector entry, read_part(file_, at, 8));
    table_at_ = be64(entry.data()) & kOffsetBits;
    table_.clear();
    if (table_at_ % header_.cluster != 0) {
      return broken(at, fmt::format("a table at {}, which is no cluster", table_at_));
    }
    if (table_at_ != 0) {
      VFSMEND_TRY_ASSIGN(table_, read_part(file_, table_at_, header_.cluster));
    }
    loaded_ = index;
    return {};
  }

  ByteSource& file_;
  Header header_;
  Entry snapshot_;
  std::uint64_t first_;  // l1 entry at which the state begins
  std::optional<std::uint64_t> loaded_;
  std::uint64_t table_at_ = 0;
  ByteVector table_;
};

std::string names_of(const std::vector<Entry>& all) {
  std::string out;
  for (const Entry& one : all) {
    out += fmt::format("{}{} (id {})", out.empty() ? "" : ", ", printable(one.name), printable(one.id));
    if (out.size() > 1000) return out + " and more";
  }
  return out;
}

Result<Entry> choose(std::vector<Entry> all, const std::string& wanted) {
  if (all.empty()) return fail(ErrorCode::kUsage, "a qcow2 image without a VM state");
  if (wanted.empty() && all.size() == 1) return std::move(all.front());
  if (wanted.empty()) {
    return fail(ErrorCode::kUsage,
                fmt::format("several VM states: say --vm-state NAME; there are {}", names_of(all)));
  }
  for (Entry& one : all) {
    if (one.name == wanted || one.id == wanted) return std::move(one);
  }
  return fail(ErrorCode::kUsage,
              fmt::format("--vm-state {}: no such VM state; there are {}", printable(wanted), names_of(all)));
}

}  // namespace

Result<VmStream> qcow2_stream(ByteSource& file, const std::string& wanted) {
  VFSMEND_TRY_ASSIGN(const Header header, read_header(file));
  VFSMEND_TRY_ASSIGN(auto all, with_vm_state(file, header));
  VFSMEND_TRY_ASSIGN(Entry snapshot, choose(std::move(all), wanted));
  // Nothing of a stream is kept twice or left out, so the file has room for it; and reading it has an end.
  if (snapshot.vm_size > file.size()) {
    return broken(snapshot.at, fmt::format("a VM state of {} bytes in a file of {}", snapshot.vm_size, file.size()));
  }
  if (!snapshot.disk_size) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("byte {}: an old entry without the disk's size", snapshot.at + 36));
  }
  const std::uint64_t covered = header.cluster * header.l2_entries();
  const std::uint64_t first = *snapshot.disk_size / covered + (*snapshot.disk_size % covered != 0 ? 1 : 0);
  const std::uint64_t needed = (snapshot.vm_size + covered - 1) / covered;
  const bool enough = snapshot.l1_entries <= kMostL1Entries && first + needed <= snapshot.l1_entries;
  if (!enough || snapshot.l1 > file.size() || snapshot.l1_entries * std::uint64_t{8} > file.size() - snapshot.l1) {
    return broken(snapshot.at, fmt::format("a table of {} entries at {}, which holds no VM state of {} bytes behind a "
                                           "disk of {}", snapshot.l1_entries, snapshot.l1, snapshot.vm_size,
                                           *snapshot.disk_size));
  }
  VmStream out;
  out.kind = ContainerKind::kQemu;
  out.name = snapshot.name;
  const std::uint64_t entry = snapshot.at;
  out.source = std::make_unique<VmState>(file, header, std::move(snapshot), first);
  std::array<std::uint8_t, 4> magic{};
  if (out.source->size() < magic.size()) return broken(entry, "a VM state of less than 4 bytes");
  VFSMEND_TRY(out.source->read(0, magic));
  if (!is_qemu_stream(magic)) return broken(entry, "its VM state does not begin as a QEMU stream");
  return out;
}

Result<VmStream> find_vm_stream(ByteSource& file, const std::string& wanted) {
  VFSMEND_TRY_ASSIGN(const ByteVector head, read_part(file, 0, std::min<std::uint64_t>(file.size(), 16)));
  if (as_text(head).starts_with("QFI\xfb")) return qcow2_stream(file, wanted);
  if (!wanted.empty()) return fail(ErrorCode::kUsage, "--vm-state is for qcow2 images");
  if (as_text(head).starts_with("LibvirtQemud")) return libvirt_stream(file);
  if (is_qemu_stream(head)) {
    return fail(ErrorCode::kUsage, "a QEMU stream already: repair it as it is, without --extract");
  }
  return fail(ErrorCode::kUsage, "neither a libvirt save file nor a qcow2 image: --extract is for these");
}

}  // namespace vfsmend
