// SPDX-License-Identifier: Apache-2.0
#include "manifest/blocks.h"

#include <fmt/core.h>
#include <zstd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "manifest/little_endian.h"
#include "sys/heap.h"

namespace vfsmend {
namespace {

constexpr int kLevel = 1;  // a capture waits for it
constexpr std::array<std::string_view, 23> kNames = {
    "",     "facts",  "section", "parent", "name",  "node",  "mode",        "uid",
    "gid",  "nlink",  "size",    "device", "ino",   "rdev",  "mtime",       "btime",
    "ctime", "handle_type", "handle", "xattrs", "target", "notes", "hash"};
static_assert(kNames.size() == static_cast<std::size_t>(kLastBlock) + 1);

// Header and table as they must be before a block is looked at. -> number of blocks
Result<std::uint32_t> read_header(Bytes file) {
  if (!as_text(file).starts_with(kManifestMagic)) {
    return fail(ErrorCode::kFormat, "byte 0: not a manifest");
  }
  if (file.size() < kManifestHeader + kManifestSum) {
    return fail(ErrorCode::kFormat, fmt::format("cut at byte {}, in its header", file.size()));
  }
  const auto version = le_at<std::uint32_t>(file, 8);
  if (version != kManifestVersion) {
    return fail(ErrorCode::kFormat, fmt::format("byte 8: version {} is not known", version));
  }
  const auto blocks = le_at<std::uint32_t>(file, 12);
  if (blocks > (file.size() - kManifestHeader - kManifestSum) / kManifestEntry) {
    return fail(ErrorCode::kFormat,
                fmt::format("cut at byte {}, in its table of {} blocks", file.size(), blocks));
  }
  const std::size_t head = kManifestHeader + blocks * kManifestEntry;
  if (manifest_checksum(file.first(head)) != le_at<std::uint64_t>(file, head)) {
    return fail(ErrorCode::kFormat,
                fmt::format("bytes 0 to {}: header and table are damaged", head + kManifestSum));
  }
  const auto size = le_at<std::uint64_t>(file, 16);
  if (size > file.size()) {
    return fail(ErrorCode::kFormat, fmt::format("cut at byte {} of {}", file.size(), size));
  }
  if (size < file.size()) {
    return fail(ErrorCode::kFormat, fmt::format("byte {}: {} bytes behind its end", size,
                                                file.size() - size));
  }
  return blocks;
}

// Nothing is allocated for a block whose sizes cannot be.
Result<void> check_sizes(const Block& block, std::uint64_t raw_before) {
  const std::uint64_t stored = block.stored.size();
  if (stored > block.raw_size) {
    return fail(ErrorCode::kFormat, fmt::format("{} bytes are stored as {}, which is more",
                                                block.raw_size, stored));
  }
  if (block.raw_size / kMaxExpansion > stored) {
    return fail(ErrorCode::kLimit, fmt::format("{} bytes cannot come out of {}", block.raw_size,
                                               stored));
  }
  if (block.raw_size > kMaxManifestMemory - raw_before) {
    return fail(ErrorCode::kLimit,
                fmt::format("with its {} bytes the manifest has more than {}", block.raw_size,
                            kMaxManifestMemory));
  }
  return {};
}

Result<Block> read_entry(Bytes file, std::size_t at, std::uint64_t offset) {
  const auto kind = le_at<std::uint32_t>(file, at);
  if (kind == 0 || kind > static_cast<std::uint32_t>(kLastBlock)) {
    return fail(ErrorCode::kFormat, fmt::format("byte {}: block kind {} is not known", at, kind));
  }
  const auto stored = le_at<std::uint64_t>(file, at + 16);
  if (stored > file.size() - offset) {
    return fail(ErrorCode::kFormat,
                fmt::format("byte {}: block {} of {} bytes at byte {} goes beyond the file's end",
                            at, name_of(BlockKind{kind}), stored, offset));
  }
  return Block{BlockKind{kind}, le_at<std::uint32_t>(file, at + 4),
               le_at<std::uint64_t>(file, at + 8), file.subspan(offset, stored), offset};
}

bool before(const Block& a, const Block& b) {
  return std::pair(a.section, a.kind) < std::pair(b.section, b.kind);
}

}  // namespace

std::string_view name_of(BlockKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "";
}

std::uint64_t manifest_checksum(Bytes bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string place_of(const Block& block) {
  return fmt::format("block {} of section {} at byte {}", name_of(block.kind), block.section,
                     block.offset);
}

Result<std::vector<Block>> read_blocks(Bytes file) {
  VFSMEND_TRY_ASSIGN(const std::uint32_t count, read_header(file));
  std::vector<Block> blocks;
  blocks.reserve(count);
  std::uint64_t offset = kManifestHeader + count * kManifestEntry + kManifestSum;
  std::uint64_t raw = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = kManifestHeader + i * kManifestEntry;
    VFSMEND_TRY_ASSIGN(const Block block, read_entry(file, at, offset));
    if (i > 0 && !before(blocks.back(), block)) {
      return fail(ErrorCode::kFormat, fmt::format("byte {}: {} stands behind a later one", at,
                                                  place_of(block)));
    }
    if (auto ok = check_sizes(block, raw); !ok) {
      return tl::make_unexpected(std::move(ok).error().context(place_of(block)));
    }
    if (manifest_checksum(block.stored) != le_at<std::uint64_t>(file, at + 24)) {
      return fail(ErrorCode::kFormat, place_of(block) + ": damaged");
    }
    raw += block.raw_size;
    offset += block.stored.size();
    blocks.push_back(block);
  }
  if (offset != file.size()) {
    return fail(ErrorCode::kFormat, fmt::format("byte {}: {} bytes are in no block", offset,
                                                file.size() - offset));
  }
  return blocks;
}

Unpacker::Unpacker(std::span<const Block> blocks) {
  for (const Block& block : blocks) {
    if (block.stored.size() < block.raw_size) room_size_ = std::max(room_size_, block.raw_size);
  }
}
Unpacker::~Unpacker() { ZSTD_freeDCtx(zstd_); }

Result<Bytes> Unpacker::unpack(const Block& block) {
  if (block.stored.size() == block.raw_size) return block.stored;
  // The frame has to say the same before memory is fetched for it.
  if (ZSTD_getFrameContentSize(block.stored.data(), block.stored.size()) != block.raw_size) {
    return fail(ErrorCode::kFormat, place_of(block) + ": no zstd frame of its size");
  }
  VFSMEND_CHECK(block.raw_size <= room_size_);
  if (!zstd_) zstd_ = ZSTD_createDCtx();
  VFSMEND_CHECK(zstd_);
  if (!room_) room_ = std::make_unique_for_overwrite<std::uint8_t[]>(room_size_);
  if (block.raw_size > fetched_) {
    sys::fetch_pages(room_.get() + fetched_, block.raw_size - fetched_);
    fetched_ = block.raw_size;
  }
  const std::size_t size = ZSTD_decompressDCtx(zstd_, room_.get(), block.raw_size,
                                               block.stored.data(), block.stored.size());
  if (ZSTD_isError(size)) {
    return fail(ErrorCode::kFormat,
                fmt::format("{}: zstd: {}", place_of(block), ZSTD_getErrorName(size)));
  }
  if (size != block.raw_size) {
    return fail(ErrorCode::kFormat, fmt::format("{}: it expands to {} bytes, not {}",
                                                place_of(block), size, block.raw_size));
  }
  return Bytes(room_.get(), size);
}

BlockWriter::BlockWriter() : zstd_(ZSTD_createCCtx()) { VFSMEND_CHECK(zstd_); }
BlockWriter::~BlockWriter() { ZSTD_freeCCtx(zstd_); }

void BlockWriter::add(BlockKind kind, std::uint32_t section, Bytes raw) {
  const std::size_t begin = stored_.size();
  const std::size_t bound = ZSTD_compressBound(raw.size());
  stored_.resize(begin + bound);
  const std::size_t size =
      ZSTD_compressCCtx(zstd_, stored_.data() + begin, bound, raw.data(), raw.size(), kLevel);
  VFSMEND_CHECK(!ZSTD_isError(size));
  if (size < raw.size()) {
    stored_.resize(begin + size);
  } else {
    stored_.resize(begin);
    stored_.insert(stored_.end(), raw.begin(), raw.end());
  }
  const Bytes stored = Bytes(stored_).subspan(begin);
  append_le(table_, static_cast<std::uint32_t>(kind));
  append_le(table_, section);
  append_le(table_, std::uint64_t{raw.size()});
  append_le(table_, std::uint64_t{stored.size()});
  append_le(table_, manifest_checksum(stored));
  raw_size_ += raw.size();
}

void BlockWriter::append(const BlockWriter& rest) {
  table_.insert(table_.end(), rest.table_.begin(), rest.table_.end());
  stored_.insert(stored_.end(), rest.stored_.begin(), rest.stored_.end());
  raw_size_ += rest.raw_size_;
}

ByteVector BlockWriter::finish() const {
  const std::size_t head = kManifestHeader + table_.size();
  ByteVector file;
  file.reserve(head + kManifestSum + stored_.size());
  const Bytes magic = as_bytes(kManifestMagic);
  file.assign(magic.begin(), magic.end());
  append_le(file, kManifestVersion);
  append_le(file, static_cast<std::uint32_t>(table_.size() / kManifestEntry));
  append_le(file, std::uint64_t{head + kManifestSum + stored_.size()});
  file.insert(file.end(), table_.begin(), table_.end());
  append_le(file, manifest_checksum(file));
  file.insert(file.end(), stored_.begin(), stored_.end());
  return file;
}

}  // namespace vfsmend
