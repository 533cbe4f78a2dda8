// SPDX-License-Identifier: Apache-2.0
// What libvirt's `save` writes. Numbers are in the order of the host that saved.
//
//   0 "LibvirtQemudSave" | "LibvirtQemudPart" (unfinished)   16 u32 version = 1, 2   20 u32 data_len
//   24 u32 was_running   28 u32 format   32 u32 cookie, from byte 92   unused up to 92
//   92 data_len bytes: the domain's XML, NUL, the cookie, zeros   then QEMU's stream
#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "snapshot/big_endian.h"
#include "snapshot/qemu.h"
#include "snapshot/vm_stream.h"

namespace vfsmend {
namespace {

constexpr std::uint64_t kHeaderSize = 92;
constexpr std::uint32_t kNewestVersion = 2;
constexpr std::uint32_t kRaw = 0;
constexpr std::uint32_t kSparse = 6;
constexpr std::array<const char*, 6> kUnpackers = {"", "gzip -dc", "bzip2 -dc", "xz -dc", "lzop -dc", "zstd -dc"};

// The bytes from `begin` to the end of the file.
class RestOfFile final : public ByteSource {
 public:
  RestOfFile(ByteSource& file, std::uint64_t begin) : file_(file), begin_(begin) {}
  [[nodiscard]] std::uint64_t size() const override { return file_.size() - begin_; }
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::uint8_t> out) override {
    if (offset > size()) return fail(ErrorCode::kFormat, fmt::format("byte {}: the stream ends before it", offset));
    return file_.read(begin_ + offset, out);
  }

 private:
  ByteSource& file_;
  std::uint64_t begin_;
};

Result<void> check_format(std::uint32_t format, std::uint64_t begin) {
  if (format == kRaw) return {};
  if (format == kSparse) {
    return fail(ErrorCode::kUnsupported, "byte 28: format 6 (sparse, a mapped-ram stream) is not read by this "
                                         "version: save the domain with the image format raw");
  }
  if (format >= kUnpackers.size()) {
    return fail(ErrorCode::kUnsupported, fmt::format("byte 28: an unknown format {}", format));
  }
  return fail(ErrorCode::kUnsupported,
              fmt::format("byte 28: the stream is compressed: unpack it with `tail -c +{} FILE | {} > STREAM` and "
                          "give STREAM", begin + 1, kUnpackers[format]));
}

}  // namespace

Result<VmStream> libvirt_stream(ByteSource& file) {
  VFSMEND_TRY_ASSIGN(const ByteVector magic, read_part(file, 0, 16));
  if (as_text(magic) == "LibvirtQemudPart") {
    return fail(ErrorCode::kUnsupported, "byte 0: a libvirt save file that was never finished: save the domain again");
  }
  VFSMEND_TRY_ASSIGN(const ByteVector head, read_part(file, 0, kHeaderSize));
  const bool swapped = le32(head.data() + 16) > kNewestVersion;
  const auto number = [&](std::size_t at) {
    return swapped ? be32(head.data() + at) : le32(head.data() + at);
  };
  const std::uint32_t version = number(16);
  if (version == 0 || version > kNewestVersion) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("byte 16: version {} of libvirt's save files; 1 and 2 are known", le32(head.data() + 16)));
  }
  const std::uint64_t data_size = number(20);
  VmStream out;
  out.begin = kHeaderSize + data_size;
  if (data_size == 0 || out.begin >= file.size()) {
    return fail(ErrorCode::kFormat, fmt::format("byte 20: {} bytes of XML, and the file has {} bytes: torn", data_size,
                                                file.size()));
  }
  if (number(32) >= data_size) {
    return fail(ErrorCode::kFormat,
                fmt::format("byte 32: the cookie begins at {} of {} bytes", number(32), data_size));
  }
  VFSMEND_TRY(check_format(number(28), out.begin));
  VFSMEND_TRY_ASSIGN(const ByteVector begin, read_part(file, out.begin, 4));
  if (!is_qemu_stream(begin)) {
    return fail(ErrorCode::kFormat, fmt::format("byte {}: no QEMU stream begins here, as byte 20 says", out.begin));
  }
  out.kind = ContainerKind::kLibvirt;
  out.source = std::make_unique<RestOfFile>(file, out.begin);
  return out;
}

}  // namespace vfsmend
