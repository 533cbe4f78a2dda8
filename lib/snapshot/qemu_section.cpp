// SPDX-License-Identifier: Apache-2.0
#include "snapshot/qemu_section.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "snapshot/big_endian.h"
#include "snapshot/limits.h"
#include "snapshot/tail_search.h"
#include "state/codec.h"

namespace vfsmend {
namespace {

constexpr std::uint8_t kEndOfSections = 0x00;
constexpr std::uint8_t kFullSection = 0x04;
constexpr std::uint8_t kFooter = 0x7e;
constexpr std::uint64_t kFooterSize = 5;
constexpr std::uint64_t kHeaderSize = 14;  // without the idstr
constexpr std::string_view kIdSuffix = "/vhost-user-fs";

// The PCI and virtio state in front of the mark has 45 KB.
constexpr std::uint64_t kMostFields = std::uint64_t{1} << 20;

tl::unexpected<Error> misfit(std::uint64_t at, std::string what) {
  return fail(ErrorCode::kFormat, fmt::format("byte {}: {}", at, what));
}

// Reads forward in pieces, so that a list of many small chunks is not many small reads.
class ForwardReader {
 public:
  ForwardReader(ByteSource& source, std::uint64_t at) : source_(source), at_(at) {}

  [[nodiscard]] std::uint64_t at() const { return at_; }
  [[nodiscard]] std::uint64_t left() const { return source_.size() - at_; }

  Result<void> read(std::span<std::uint8_t> out) {
    while (!out.empty()) {
      if (at_ < begin_ || at_ - begin_ >= buffer_.size()) VFSMEND_TRY(refill());
      const std::size_t skip = at_ - begin_;
      const std::size_t n = std::min(out.size(), buffer_.size() - skip);
      std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(skip), n, out.begin());
      out = out.subspan(n);
      at_ += n;
    }
    return {};
  }

  Result<std::uint32_t> number() {
    std::array<std::uint8_t, 4> bytes{};
    VFSMEND_TRY(read(bytes));
    return be32(bytes.data());
  }

 private:
  Result<void> refill() {
    if (left() == 0) return misfit(at_, "the file ends here; expected a chunk of the state");
    begin_ = at_;
    VFSMEND_TRY_ASSIGN(buffer_, read_part(source_, at_, std::min(left(), piece_)));
    piece_ = std::min(piece_ * 4, std::uint64_t{1} << 20);
    return {};
  }

  ByteSource& source_;
  std::uint64_t at_;
  std::uint64_t begin_ = 0;  // of the buffer in the file
  std::uint64_t piece_ = std::uint64_t{4} << 10;
  ByteVector buffer_;
};

// A list that has more than `most` bytes of state is not read to its end.
Result<void> read_chunks(ForwardReader& in, std::uint64_t most, QemuSection& out) {
  out.chunks_begin = in.at();
  for (;;) {
    const std::uint64_t at = in.at();
    VFSMEND_TRY_ASSIGN(const std::uint32_t length, in.number());
    if (length == 0) break;
    if (length > in.left()) {
      return misfit(at, fmt::format("a chunk of {} bytes, where the file has {} more", length,
                                    in.left()));
    }
    if (out.state.size() + length > most) {
      return misfit(at, fmt::format("more than {} bytes of state", most));
    }
    const std::size_t old = out.state.size();
    out.state.resize(old + length);
    VFSMEND_TRY(in.read(std::span(out.state).subspan(old)));
    ++out.chunks;
  }
  out.chunks_end = in.at();
  return {};
}

// Behind the chunks: the footer with the section's id, then another section or their end.
Result<void> check_footer(ByteSource& source, std::uint32_t id, QemuSection& section) {
  const std::uint64_t end = section.chunks_end;
  const std::uint64_t there = std::min(source.size() - end, kFooterSize + 1);
  VFSMEND_TRY_ASSIGN(const ByteVector bytes, read_part(source, end, there));
  section.has_footer = !bytes.empty() && bytes[0] == kFooter;
  if (section.has_footer && (there < kFooterSize || be32(bytes.data() + 1) != id)) {
    return misfit(end, fmt::format("no footer of section {}", id));
  }
  const std::uint64_t next = section.has_footer ? kFooterSize : 0;
  if (there <= next || (bytes[next] != kFullSection && bytes[next] != kEndOfSections)) {
    return misfit(end + next, "expected another section or the end of the sections");
  }
  return {};
}

// A header that begins at `begin`, with an idstr of `id_size` bytes; -> the section's id.
Result<std::uint32_t> read_header(ByteSource& source, std::uint64_t begin, std::size_t id_size,
                                  const DescribedDevice* described, QemuSection& out) {
  VFSMEND_TRY_ASSIGN(const ByteVector header, read_part(source, begin, kHeaderSize + id_size));
  const std::string_view idstr = as_text(header).substr(6, id_size);
  const std::uint8_t* numbers = header.data() + 6 + id_size;
  const bool fits = header[0] == kFullSection && header[5] == id_size &&
                    idstr.ends_with(kIdSuffix) && is_utf8(idstr);
  const bool as_described = !described || (described->name == idstr &&
                                           described->instance == be32(numbers) &&
                                           described->version == be32(numbers + 4));
  if (!fits || !as_described) return misfit(begin, "not the header of a vhost-user-fs section");
  out.idstr = idstr;
  out.begin = begin;
  out.fields_begin = begin + header.size();
  return be32(header.data() + 1);
}

// The header whose idstr ends at `id_end`, if there is one.
Result<std::uint32_t> header_before(ByteSource& source, std::uint64_t id_end, QemuSection& out) {
  constexpr std::uint64_t kLongestId = 255;
  constexpr std::uint64_t kBeforeId = 6;
  const std::uint64_t from = id_end - std::min(id_end, kLongestId + kBeforeId);
  VFSMEND_TRY_ASSIGN(const ByteVector before, read_part(source, from, id_end - from));
  for (std::uint64_t size = kIdSuffix.size(); size + kBeforeId <= before.size(); ++size) {
    const std::uint64_t begin = before.size() - size - kBeforeId;
    if (before[begin] != kFullSection || before[begin + kBeforeId - 1] != size) continue;
    auto id = read_header(source, from + begin, size, nullptr, out);
    if (id || id.error().code == ErrorCode::kSystem) return id;
  }
  return misfit(id_end, "not the end of a section's name");
}

// Without a vmdesc: the nearest header in front of the mark.
Result<std::uint32_t> find_header(ByteSource& source, QemuSection& out) {
  constexpr int kMostTries = 16;
  const std::uint64_t floor = out.mark > kMostFields ? out.mark - kMostFields : 0;
  TailSearch search(source, std::string(kIdSuffix), floor, out.mark);
  for (int i = 0; i < kMostTries; ++i) {
    VFSMEND_TRY_ASSIGN(const std::optional<std::uint64_t> at, search.next());
    if (!at) break;
    auto id = header_before(source, *at + kIdSuffix.size(), out);
    if (id ? out.fields_begin <= out.mark : id.error().code == ErrorCode::kSystem) return id;
  }
  return misfit(out.mark, "no header of a vhost-user-fs section before it");
}

bool decodes(Bytes state) { return decode(state, Reader::kVirtiofsd).has_value(); }

}  // namespace

const std::string& backend_mark() {
  static const std::string mark =
      std::string("\x05\x15vhost-user-fs-backend") + std::string(4, '\0');
  return mark;
}

Result<QemuSection> read_section(ByteSource& source, std::uint64_t mark,
                                 const DescribedDevice* described) {
  QemuSection out;
  out.mark = mark;
  std::uint32_t id = 0;
  if (described) {
    const std::uint64_t before = kHeaderSize + described->name.size();
    if (described->fields_size > mark || before > mark - described->fields_size) {
      return misfit(mark, "nearer to the begin of the file than vmdesc says");
    }
    VFSMEND_TRY_ASSIGN(id, read_header(source, mark - described->fields_size - before,
                                       described->name.size(), described, out));
  } else {
    VFSMEND_TRY_ASSIGN(id, find_header(source, out));
  }
  ForwardReader in(source, mark + backend_mark().size());
  const std::uint64_t most = described ? described->backend_size.value_or(0) : kMaxStateBytes;
  VFSMEND_TRY(read_chunks(in, std::min(most, kMaxStateBytes), out));
  VFSMEND_TRY(check_footer(source, id, out));
  if (described) {
    const std::uint64_t size = 4 * (out.chunks + 1) + out.state.size();
    if (size != described->backend_size) {
      return misfit(out.chunks_begin, fmt::format("{} bytes of chunks, and {} in vmdesc", size,
                                                  described->backend_size.value_or(0)));
    }
  } else if (!out.has_footer && !decodes(out.state)) {
    // Neither vmdesc nor a footer vouches for it: guest memory may look like this.
    return misfit(out.chunks_begin, "chunks that hold no state");
  }
  return out;
}

Result<std::optional<std::string>> find_tag(ByteSource& source, const QemuSection& section) {
  // be32 size, then struct virtio_fs_config: tag[36], le32 num_request_queues (and, in the longer
  // form, le32 notify_buf_size); then virtio's be32 number of queues, one of which is not a
  // request queue.
  constexpr std::uint32_t kTagSize = 36;
  constexpr std::uint32_t kConfigSize = 40;
  constexpr std::uint32_t kLongConfigSize = 44;
  const std::uint64_t size = section.mark - section.fields_begin;
  std::optional<std::string> tag;
  if (size > kMostFields) return tag;
  VFSMEND_TRY_ASSIGN(const ByteVector bytes, read_part(source, section.fields_begin, size));
  for (std::size_t i = 0; i + 4 + kLongConfigSize + 4 <= bytes.size(); ++i) {
    const std::uint8_t* at = bytes.data() + i;
    const std::uint32_t config = be32(at);
    if (config != kConfigSize && config != kLongConfigSize) continue;
    const std::string_view padded(reinterpret_cast<const char*>(at + 4), kTagSize);
    const std::string_view text = padded.substr(0, padded.find('\0'));
    const std::uint32_t request_queues = le32(at + 4 + kTagSize);
    const bool is_padded =
        padded.find_first_not_of('\0', text.size()) == std::string_view::npos;
    if (text.empty() || !is_padded || !is_utf8(text) || request_queues == 0 ||
        request_queues >= 1024 || be32(at + 4 + config) != request_queues + 1) {
      continue;
    }
    if (tag && *tag != text) return std::optional<std::string>();
    tag = text;
  }
  return tag;
}

}  // namespace vfsmend
