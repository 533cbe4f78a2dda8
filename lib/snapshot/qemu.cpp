// SPDX-License-Identifier: Apache-2.0
#include "snapshot/qemu.h"

#include <fmt/core.h>

#include <algorithm>

#include "snapshot/big_endian.h"
#include "snapshot/qemu_section.h"
#include "snapshot/tail_search.h"
#include "snapshot/vmdesc.h"

namespace vfsmend {
namespace {

constexpr std::string_view kMagic = "QEVM";
constexpr std::uint32_t kStreamVersion = 3;
constexpr std::size_t kHeadSize = 4096;  // with the machine's name and the capabilities

// How far before the end of the file, and before each device found, sections are looked for, the
// states themselves not counted. Devices without memory have some MB.
constexpr std::uint64_t kSearchSize = std::uint64_t{64} << 20;

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

class DeviceSearch {
 public:
  DeviceSearch(ByteSource& source, const std::optional<Vmdesc>& vmdesc)
      : source_(source),
        vmdesc_(vmdesc),
        search_(source, backend_mark(), below(end(), span()), end()) {}

  // From the end of the file: each section that fits, until all that vmdesc names are found.
  Result<std::vector<QemuSection>> run() {
    while (misfits_ < kMostMisfits && (!vmdesc_ || found_.size() < wanted())) {
      VFSMEND_TRY_ASSIGN(const std::optional<std::uint64_t> mark, search_.next());
      if (!mark) break;
      VFSMEND_TRY(try_mark(*mark));
    }
    if (vmdesc_ && found_.size() < wanted()) return missing();
    std::reverse(found_.begin(), found_.end());
    return std::move(found_);
  }

  // What did not fit where the last mark was found.
  [[nodiscard]] const std::string& misfit() const { return misfit_; }

 private:
  [[nodiscard]] std::uint64_t end() const { return vmdesc_ ? vmdesc_->begin : source_.size(); }

  [[nodiscard]] std::uint64_t span() const {
    std::uint64_t out = kSearchSize;
    if (!vmdesc_) return out;
    for (const DescribedDevice& device : vmdesc_->devices) {
      out += std::min(device.backend_size.value_or(0), source_.size());
    }
    return out;
  }

  [[nodiscard]] std::size_t wanted() const {
    return static_cast<std::size_t>(
        std::count_if(vmdesc_->devices.begin(), vmdesc_->devices.end(),
                      [](const DescribedDevice& d) { return d.backend_size.has_value(); }));
  }

  [[nodiscard]] bool is_found(const std::string& idstr) const {
    return std::any_of(found_.begin(), found_.end(),
                       [&](const QemuSection& s) { return s.idstr == idstr; });
  }

  Result<void> try_mark(std::uint64_t mark) {
    if (!vmdesc_) return try_section(mark, nullptr);
    for (const DescribedDevice& device : vmdesc_->devices) {
      if (!device.backend_size || is_found(device.name)) continue;
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
    if (is_found(section->idstr)) return {};  // an older copy, in guest memory
    const std::uint64_t floor = below(section->begin, vmdesc_ ? span() : kSearchSize);
    search_.go_on_below(section->begin, floor);
    found_.push_back(std::move(*section));
    return {};
  }

  [[nodiscard]] tl::unexpected<Error> missing() const {
    for (const DescribedDevice& device : vmdesc_->devices) {
      if (!device.backend_size || is_found(device.name)) continue;
      return fail(ErrorCode::kFormat,
                  fmt::format("byte {}: vmdesc names {} with a back-end state of {} bytes; "
                              "expected its section before this byte{}{}",
                              end(), device.name, *device.backend_size,
                              misfit_.empty() ? "" : "; what looks like one does not fit: ",
                              misfit_));
    }
    return fail(ErrorCode::kFormat, "vmdesc contradicts itself");
  }

  ByteSource& source_;
  const std::optional<Vmdesc>& vmdesc_;
  TailSearch search_;
  std::vector<QemuSection> found_;  // the last of the file first
  std::string misfit_;
  std::size_t misfits_ = 0;
};

// "0000:00:01.0/vhost-user-fs" -> "0000:00:01.0"
std::string device_id(std::string_view idstr) {
  const std::size_t slash = idstr.rfind('/');
  return std::string(slash == 0 || slash == idstr.npos ? idstr : idstr.substr(0, slash));
}

Result<SnapshotDevice> to_device(ByteSource& source, const std::string& path,
                                 QemuSection& section) {
  SnapshotDevice out;
  out.id = device_id(section.idstr);
  VFSMEND_TRY_ASSIGN(out.tag, find_tag(source, section));
  out.span = {path, section.chunks_begin, section.chunks_end};
  out.state = std::move(section.state);
  return out;
}

}  // namespace

bool is_qemu_stream(Bytes head) { return as_text(head).starts_with(kMagic); }

Result<std::vector<SnapshotDevice>> read_qemu(ByteSource& source, const std::string& path,
                                              std::vector<std::string>& notes) {
  VFSMEND_TRY_ASSIGN(const ByteVector head,
                     read_part(source, 0, std::min<std::uint64_t>(source.size(), kHeadSize)));
  VFSMEND_TRY(check_head(head));
  std::string why_not;
  VFSMEND_TRY_ASSIGN(const std::optional<Vmdesc> vmdesc, find_vmdesc(source, why_not));
  DeviceSearch search(source, vmdesc);
  VFSMEND_TRY_ASSIGN(std::vector<QemuSection> sections, search.run());
  std::vector<SnapshotDevice> out;
  for (QemuSection& section : sections) {
    VFSMEND_TRY_ASSIGN(SnapshotDevice device, to_device(source, path, section));
    out.push_back(std::move(device));
  }
  if (!vmdesc && out.empty()) {
    return fail(ErrorCode::kFormat,
                fmt::format("byte {}: {} (torn, or written with suppress-vmdesc), and no "
                            "vhost-user-fs section in the {} MiB before it{}{}",
                            source.size(), why_not, kSearchSize >> 20,
                            search.misfit().empty() ? "" : "; what looks like one does not fit: ",
                            search.misfit()));
  }
  if (!vmdesc) notes.push_back(why_not + ": devices were found by their sections alone");
  for (const DescribedDevice& device : vmdesc ? vmdesc->devices : std::vector<DescribedDevice>()) {
    if (device.backend_size) continue;
    SnapshotDevice lost;
    lost.id = device_id(device.name);
    lost.notes.emplace_back("its section holds no back-end state");
    out.push_back(std::move(lost));
  }
  if (out.empty()) notes.emplace_back("the VM had no vhost-user-fs device");
  return out;
}

}  // namespace vfsmend
