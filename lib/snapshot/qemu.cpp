// SPDX-License-Identifier: Apache-2.0
#include "snapshot/qemu.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "snapshot/big_endian.h"
#include "snapshot/qemu_section.h"
#include "snapshot/tail_search.h"
#include "snapshot/vmdesc.h"
#include "state/codec.h"

namespace vfsmend {
namespace {

constexpr std::string_view kMagic = "QEVM";
constexpr std::uint32_t kStreamVersion = 3;
constexpr std::size_t kHeadSize = 4096;  // with the machine's name and the capabilities

// How far before the end of the file, and before each device found, sections are looked for, the
// states themselves not counted. Devices without memory have some MB.
constexpr std::uint64_t kSearchSize = std::uint64_t{64} << 20;
// The same for sections that a vmdesc describes wrongly: nearer, for there is less to know them by.
constexpr std::uint64_t kShortSearchSize = std::uint64_t{4} << 20;

// Marks that turn out to be none. Guest memory holds a few; more is somebody's work.
constexpr std::size_t kMostMisfits = 256;

std::uint64_t below(std::uint64_t at, std::uint64_t distance) {
  return at > distance ? at - distance : 0;
}

// Capabilities that change the format are named near the begin:
//   05 1a "configuration/capabilities" be32 1  be32 count {u8 n name[n]} ..
Result<void> check_head(Bytes head) {
  if (head.size() < 8 || be32(head.data() + 4) != kStreamVersion) {
    return fail(ErrorCode::kUnsupported, "byte 4: not version 3 of QEMU's migration format");
  }
  constexpr std::string_view kCapabilities = "\x05\x1a" "configuration/capabilities";
  const std::size_t at = as_text(head).find(kCapabilities);
  if (at == std::string_view::npos) return {};
  const std::string_view names = as_text(head).substr(at + kCapabilities.size(), 512);
  if (names.find("\x0amapped-ram") != std::string_view::npos) {
    return fail(ErrorCode::kUnsupported,
                "a mapped-ram migration file is not read by this version: migrate again without "
                "the capability mapped-ram (libvirt: save without --image-format sparse)");
  }
  return {};
}

QemuSection* find_named(std::vector<QemuSection>& sections, const std::string& idstr) {
  const auto it = std::find_if(sections.begin(), sections.end(),
                               [&](const QemuSection& s) { return s.idstr == idstr; });
  return it == sections.end() ? nullptr : &*it;
}

class DeviceSearch {
 public:
  // With `described`, for these; without, for any, each of which must vouch for itself.
  DeviceSearch(ByteSource& source, std::uint64_t end, std::uint64_t span,
               const std::vector<DescribedDevice>* described)
      : source_(source),
        described_(described),
        span_(span),
        search_(source, backend_mark(), below(end, span_), end) {}

  // From the end of the file: each section that fits, until all that are described are found.
  // The last one of the file comes first.
  Result<std::vector<QemuSection>> run() {
    while (misfits_ < kMostMisfits && (!described_ || found_.size() < described_->size())) {
      VFSMEND_TRY_ASSIGN(const std::optional<std::uint64_t> mark, search_.next());
      if (!mark) break;
      VFSMEND_TRY(try_mark(*mark));
    }
    return std::move(found_);
  }

  // What did not fit where the last mark was found.
  [[nodiscard]] const std::string& misfit() const { return misfit_; }

 private:
  Result<void> try_mark(std::uint64_t mark) {
    if (!described_) return try_section(mark, nullptr);
    for (const DescribedDevice& device : *described_) {
      if (find_named(found_, device.name)) continue;
      const std::size_t before = found_.size();
      VFSMEND_TRY(try_section(mark, &device));
      if (found_.size() > before) break;
    }
    return {};
  }

  Result<void> try_section(std::uint64_t mark, const DescribedDevice* described) {
    auto section = read_section(source_, mark, described);
    if (!section) {
      if (section.error().code == ErrorCode::kSystem) {
        return tl::make_unexpected(std::move(section).error());
      }
      misfit_ = std::move(section).error().text;
      ++misfits_;
      return {};
    }
    if (find_named(found_, section->idstr)) return {};  // an older copy, in guest memory
    search_.go_on_below(section->begin, below(section->begin, span_));
    found_.push_back(std::move(*section));
    return {};
  }

  ByteSource& source_;
  const std::vector<DescribedDevice>* described_;
  std::uint64_t span_;
  TailSearch search_;
  std::vector<QemuSection> found_;
  std::string misfit_;
  std::size_t misfits_ = 0;
};

Result<SnapshotDevice> to_device(ByteSource& source, const std::string& path,
                                 QemuSection& section) {
  SnapshotDevice out;
  out.id = device_id(section.idstr);
  VFSMEND_TRY_ASSIGN(out.tag, find_tag(source, section));
  out.span = {path, section.chunks_begin, section.chunks_end};
  out.state = std::move(section.state);
  return out;
}

std::string misfit_text(const DeviceSearch& search) {
  if (search.misfit().empty()) return {};
  return "; what looks like one does not fit: " + search.misfit();
}

// No vmdesc: what the sections say themselves.
Result<std::vector<SnapshotDevice>> read_undescribed(ByteSource& source, const std::string& path,
                                                     const std::string& why_not) {
  DeviceSearch search(source, source.size(), kSearchSize, nullptr);
  VFSMEND_TRY_ASSIGN(std::vector<QemuSection> sections, search.run());
  std::vector<SnapshotDevice> out;
  for (auto section = sections.rbegin(); section != sections.rend(); ++section) {
    VFSMEND_TRY_ASSIGN(SnapshotDevice device, to_device(source, path, *section));
    out.push_back(std::move(device));
  }
  if (!out.empty()) return out;
  // Sections end with a zero. A file that does not was cut; of one that does, it cannot be known.
  VFSMEND_TRY_ASSIGN(const ByteVector last, read_part(source, source.size() - 1, 1));
  const bool torn = last[0] != 0 || !search.misfit().empty();
  return fail(torn ? ErrorCode::kFormat : ErrorCode::kUnsupported,
              fmt::format("byte {}: {} ({}), and no vhost-user-fs section in the {} MiB before "
                          "it{}",
                          source.size(), why_not, torn ? "torn" : "suppress-vmdesc, or torn",
                          kSearchSize >> 20, misfit_text(search)));
}

// The sections of the devices that vmdesc describes and that are not where it says: QEMU does not
// look at vmdesc when it loads, so one that is wrong does no harm to a state that is right.
Result<void> find_misdescribed(ByteSource& source, std::uint64_t end, std::uint64_t states,
                               std::vector<QemuSection>& found) {
  DeviceSearch search(source, end, kShortSearchSize + states, nullptr);
  VFSMEND_TRY_ASSIGN(std::vector<QemuSection> sections, search.run());
  for (QemuSection& section : sections) {
    const auto decoded = decode(section.state, Reader::kVirtiofsd);
    if (find_named(found, section.idstr) || !decoded) continue;
    if (decoded->consumed == section.state.size()) found.push_back(std::move(section));
  }
  return {};
}

Result<std::vector<SnapshotDevice>> read_described(ByteSource& source, const std::string& path,
                                                   const Vmdesc& vmdesc) {
  std::vector<DescribedDevice> wanted;
  std::uint64_t states = 0;
  for (const DescribedDevice& device : vmdesc.devices) {
    if (!device.backend_size) continue;
    wanted.push_back(device);
    states += std::min(*device.backend_size, source.size());
  }
  DeviceSearch search(source, vmdesc.begin, kSearchSize + states, &wanted);
  VFSMEND_TRY_ASSIGN(std::vector<QemuSection> found, search.run());
  const std::size_t as_described = found.size();
  if (as_described < wanted.size()) {
    VFSMEND_TRY(find_misdescribed(source, vmdesc.begin, states, found));
  }
  std::vector<SnapshotDevice> out;
  for (const DescribedDevice& device : vmdesc.devices) {
    QemuSection* section = find_named(found, device.name);
    if (section) {
      const bool fits = section < found.data() + as_described;
      VFSMEND_TRY_ASSIGN(SnapshotDevice read, to_device(source, path, *section));
      if (!fits) read.notes.emplace_back("vmdesc does not describe its section as it is");
      out.push_back(std::move(read));
    } else if (!device.backend_size) {
      out.emplace_back().id = device_id(device.name);
      out.back().notes.emplace_back("its section holds no back-end state");
    } else {
      return fail(ErrorCode::kFormat,
                  fmt::format("byte {}: vmdesc names {} with a back-end state of {} bytes; "
                              "expected its section before this byte{}", vmdesc.begin,
                              printable(device.name), *device.backend_size, misfit_text(search)));
    }
  }
  return out;
}

}  // namespace

std::string device_id(std::string_view idstr) {
  const std::size_t slash = idstr.rfind('/');
  return std::string(slash == 0 || slash == idstr.npos ? idstr : idstr.substr(0, slash));
}

bool is_qemu_stream(Bytes head) { return as_text(head).starts_with(kMagic); }

Result<std::vector<SnapshotDevice>> read_qemu(ByteSource& source, const std::string& path,
                                              std::vector<std::string>& notes) {
  VFSMEND_TRY_ASSIGN(const ByteVector head,
                     read_part(source, 0, std::min<std::uint64_t>(source.size(), kHeadSize)));
  VFSMEND_TRY(check_head(head));
  std::string why_not;
  VFSMEND_TRY_ASSIGN(const std::optional<Vmdesc> vmdesc, find_vmdesc(source, why_not));
  std::vector<SnapshotDevice> out;
  if (vmdesc) {
    VFSMEND_TRY_ASSIGN(out, read_described(source, path, *vmdesc));
  } else {
    VFSMEND_TRY_ASSIGN(out, read_undescribed(source, path, why_not));
    notes.push_back(why_not + ": devices were found by their sections alone");
  }
  if (out.empty()) notes.emplace_back("the VM had no vhost-user-fs device");
  return out;
}

}  // namespace vfsmend
