// SPDX-License-Identifier: Apache-2.0
// The container of a manifest: a header, a table, and blocks of bytes, each under a checksum. Knows
// nothing of what the blocks hold. All numbers little-endian.
//
//   file   = header entry*blocks head_sum:u64 stored*blocks
//   header = magic:8 version:u32 blocks:u32 file_size:u64
//   entry  = kind:u32 section:u32 raw_size:u64 stored_size:u64 sum:u64
//
// head_sum is of all bytes before it; sum is of the block as it is stored: as it is where its sizes
// are the same, else as a zstd frame. Blocks follow one another in the order of the table, up to
// the end of the file, ascending by (section, kind); none stands twice. Checksums are XXH3-64,
// seed 0.
//
// History: version 1.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "manifest/column.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace vfsmend {

enum class BlockKind : std::uint32_t {
  kFacts = 1,  // of section 0, which is the file; the others are those of sections 1, 2, ..
  kSection,
  kParent,
  kName,
  kNode,
  kMode,
  kUid,
  kGid,
  kNlink,
  kSize,
  kDevice,
  kIno,
  kRdev,
  kMtime,
  kBtime,
  kCtime,
  kHandleType,
  kHandle,
  kXattrs,
  kTarget,
  kNotes,
  kHash,  // may be absent
};
inline constexpr auto kFirstColumn = BlockKind::kParent;
inline constexpr auto kLastBlock = BlockKind::kHash;
[[nodiscard]] std::string_view name_of(BlockKind kind);  // "mtime"; "" of an unknown one

inline constexpr std::string_view kManifestMagic = "\x89VFSM\r\n\x1a";
inline constexpr std::uint32_t kManifestVersion = 1;
inline constexpr std::size_t kManifestHeader = 24;  // bytes
inline constexpr std::size_t kManifestEntry = 32;
inline constexpr std::size_t kManifestSum = 8;
// The most that zstd can expand: a block of 128 KiB takes four bytes at least.
inline constexpr std::uint64_t kMaxExpansion = 32768;
inline constexpr std::uint64_t kMaxManifestMemory = 4ULL << 30;

[[nodiscard]] std::uint64_t manifest_checksum(Bytes bytes);

struct Block {
  BlockKind kind = BlockKind::kFacts;
  std::uint32_t section = 0;
  std::uint64_t raw_size = 0;
  Bytes stored;
  std::uint64_t offset = 0;  // of `stored` in the file
};
// "block name of section 1 at byte 812"
[[nodiscard]] std::string place_of(const Block& block);

// The blocks of a file whose checksums are all right and whose sizes can be. They borrow from
// `file`.
[[nodiscard]] Result<std::vector<Block>> read_blocks(Bytes file);

// Expands blocks, one at a time into the same memory, which is that of the largest. One thread's.
class Unpacker {
 public:
  explicit Unpacker(std::span<const Block> blocks);
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  // Valid until the next call.
  [[nodiscard]] Result<Bytes> unpack(const Block& block);

 private:
  ZSTD_DCtx_s* zstd_ = nullptr;  // this and the memory from the first block that needs it
  std::unique_ptr<std::uint8_t[]> room_;
  std::uint64_t room_size_ = 0;
  std::uint64_t fetched_ = 0;  // bytes of it whose pages are there
};

class BlockWriter {
 public:
  BlockWriter();
  ~BlockWriter();
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;
  void add(BlockKind kind, std::uint32_t section, Bytes raw);
  void append(const BlockWriter& rest);  // its blocks, behind those that are there
  [[nodiscard]] std::uint64_t raw_size() const { return raw_size_; }  // of all so far
  [[nodiscard]] ByteVector finish() const;                           // the file

 private:
  ZSTD_CCtx_s* zstd_;
  ByteVector table_;
  ColumnBytes stored_;
  std::uint64_t raw_size_ = 0;
};

}  // namespace vfsmend
