// SPDX-License-Identifier: Apache-2.0
#include "manifest/manifest_file.h"

#include <fmt/core.h>

#include <array>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "manifest/blocks.h"
#include "manifest/columns.h"
#include "manifest/section_head.h"

namespace vfsmend {
namespace {

using columns::Coding;

// Entries from which a second thread is worth its start: packing is several times the work.
constexpr std::size_t kReadByTwo = 32'768;
constexpr std::size_t kWrittenByTwo = 4'096;
constexpr std::size_t kKinds = static_cast<std::size_t>(kLastBlock) + 1;

// Calls visit(kind, coding, column) for each column of integers.
template <typename Entries, typename Visit>
void for_each_integer(Entries& e, Visit&& visit) {
  visit(BlockKind::kParent, Coding::kDelta, e.parent);
  visit(BlockKind::kNode, Coding::kDelta, e.node);
  visit(BlockKind::kMode, Coding::kPlain, e.mode);
  visit(BlockKind::kUid, Coding::kPlain, e.uid);
  visit(BlockKind::kGid, Coding::kPlain, e.gid);
  visit(BlockKind::kNlink, Coding::kPlain, e.nlink);
  visit(BlockKind::kSize, Coding::kPlain, e.size);
  visit(BlockKind::kDevice, Coding::kPlain, e.device);
  visit(BlockKind::kIno, Coding::kDelta, e.ino);
  visit(BlockKind::kRdev, Coding::kPlain, e.rdev);
  visit(BlockKind::kMtime, Coding::kDelta, e.mtime);
  visit(BlockKind::kBtime, Coding::kDelta, e.btime);
  visit(BlockKind::kCtime, Coding::kDelta, e.ctime);
  visit(BlockKind::kHandleType, Coding::kPlain, e.handle_type);
  visit(BlockKind::kXattrs, Coding::kPlain, e.xattrs);
  visit(BlockKind::kNotes, Coding::kPlain, e.notes);
}

void put_hashes(ColumnBytes& out, const EntryTable& e) {
  Column<std::uint64_t> halves;
  halves.reserve(2 * e.hash.size());
  for (const auto& hash : e.hash) {
    for (const std::uint64_t half : hash) halves.push_back(half);
  }
  columns::put_integers(out, halves, Coding::kPlain);
}

void put_block(ColumnBytes& out, const ManifestSection& section, BlockKind kind) {
  const EntryTable& e = section.entries;
  if (kind == BlockKind::kSection) {
    const ByteVector head = encode_section_head(section);
    out.assign(head.begin(), head.end());
  }
  if (kind == BlockKind::kName) columns::put_names(out, e.name);
  if (kind == BlockKind::kHandle) columns::put_handles(out, e.handle, e.ino);
  if (kind == BlockKind::kTarget) columns::put_texts(out, e.target);
  if (kind == BlockKind::kHash) put_hashes(out, e);
  for_each_integer(e, [&](BlockKind its_kind, Coding coding, const auto& column) {
    if (kind == its_kind) columns::put_column(out, column, coding);
  });
}

// The blocks from `first` to `last`, in their order.
void encode_part(const ManifestSection& section, std::uint32_t number, BlockKind first, BlockKind last,
                 BlockWriter& out) {
  ColumnBytes raw;  // for one after the other: memory that was written once costs no page fault
  for (auto kind = first; kind <= last; kind = BlockKind{static_cast<std::uint32_t>(kind) + 1}) {
    if (kind == BlockKind::kHash && section.entries.hash.empty()) continue;
    raw.clear();
    put_block(raw, section, kind);
    out.add(kind, number, raw);
  }
}

void encode_section(const ManifestSection& section, std::uint32_t number, sys::SecondThread& second,
                    BlockWriter& out) {
  constexpr auto kMiddle = BlockKind::kNlink;  // about as much work before as behind it
  const auto behind = BlockKind{static_cast<std::uint32_t>(kMiddle) + 1};
  if (section.entries.size_of() < kWrittenByTwo) {
    encode_part(section, number, BlockKind::kSection, kLastBlock, out);
    return;
  }
  BlockWriter rest;
  second.do_both([&] { encode_part(section, number, BlockKind::kSection, kMiddle, out); },
                 [&] { encode_part(section, number, behind, kLastBlock, rest); });
  out.append(rest);
}

bool has_one_length(const EntryTable& e) {
  const std::size_t count = e.size_of();
  bool same = e.name.size() == count && e.handle.size() == count && e.target.size() == count &&
              (e.hash.empty() || e.hash.size() == count);
  for_each_integer(e, [&](BlockKind, Coding, const auto& column) {
    same = same && column.size() == count;
  });
  return same;
}

// Reads one section out of its blocks, of which each kind stands once at most.
class SectionReader {
 public:
  // `helpers` is for the thread that helps.
  SectionReader(Unpacker& unpacker, Unpacker& helpers, std::uint64_t& memory)
      : unpacker_(unpacker), helpers_(helpers), memory_(memory) {}

  void add(const Block& block) { blocks_[static_cast<std::size_t>(block.kind)] = &block; }

  Result<ManifestSection> read() {
    ManifestSection section;
    VFSMEND_TRY_ASSIGN(const Bytes head, unpack(BlockKind::kSection));
    const auto count = decode_section_head(head, memory_, section);
    if (!count) return at(BlockKind::kSection, count.error());
    VFSMEND_TRY(check_sizes(section.entries, *count));
    count_ = static_cast<std::size_t>(*count);
    VFSMEND_TRY(read_columns(section.entries));
    VFSMEND_TRY(check_consistent(section));
    return section;
  }

 private:
  [[nodiscard]] const Block* find(BlockKind kind) const {
    return blocks_[static_cast<std::size_t>(kind)];
  }

  tl::unexpected<Error> at(BlockKind kind, const Error& error) const {
    return tl::make_unexpected(Error(error).context(place_of(*find(kind))));
  }

  Result<Bytes> unpack(BlockKind kind) {
    const Block* block = find(kind);
    if (!block) return fail(ErrorCode::kFormat, fmt::format("block {} is missing", name_of(kind)));
    return unpacker_.unpack(*block);
  }

  // All columns of integers are there and as long as the section says, before any is expanded.
  Result<void> check_sizes(const EntryTable& e, std::uint64_t count) const {
    if (count >= kNoParent) {
      return fail(ErrorCode::kLimit, fmt::format("{} entries in a section", count));
    }
    Result<void> result;
    for_each_integer(e, [&](BlockKind kind, Coding, const auto& column) {
      using Value = typename std::decay_t<decltype(column)>::value_type;
      const Block* block = find(kind);
      if (result && !(block && columns::is_column_size<Value>(block->raw_size, count))) {
        result = check_size(kind, count * sizeof(Value));
      }
    });
    if (result && find(BlockKind::kHash)) result = check_size(BlockKind::kHash, count * 16);
    return result;
  }

  [[nodiscard]] Result<void> check_size(BlockKind kind, std::uint64_t size) const {
    const Block* block = find(kind);
    if (!block) return fail(ErrorCode::kFormat, fmt::format("block {} is missing", name_of(kind)));
    if (block->raw_size == size) return {};
    return fail(ErrorCode::kFormat, fmt::format("{}: {} bytes, not {}", place_of(*block),
                                                block->raw_size, size));
  }

  // Memory for `bytes` more, beside what read_blocks has counted.
  Result<void> take(std::uint64_t bytes) {
    if (bytes > memory_) return fail(ErrorCode::kLimit, "more memory than a manifest may take");
    memory_ -= bytes;
    return {};
  }

  // A large one by two threads, which share nothing: this one has the texts, whose memory is taken
  // as it goes, and the inode numbers that handles need; the other the rest of the integers.
  Result<void> read_columns(EntryTable& e) {
    if (count_ < kReadByTwo) {
      VFSMEND_TRY(read_integers_but_ino(e, unpacker_));
      return read_ino_and_texts(e);
    }
    Result<void> integers;
    Result<void> texts;
    sys::SecondThread second;
    second.do_both([&] { integers = read_integers_but_ino(e, helpers_); },
                   [&] { texts = read_ino_and_texts(e); });
    VFSMEND_TRY(std::move(integers));
    return texts;
  }

  Result<void> read_integers_but_ino(EntryTable& e, Unpacker& unpacker) const {
    Result<void> result;
    for_each_integer(e, [&](BlockKind kind, Coding coding, auto& column) {
      if (result && kind != BlockKind::kIno) {
        result = read_integers(unpacker, kind, coding, column);
      }
    });
    return result;
  }

  Result<void> read_ino_and_texts(EntryTable& e) {
    VFSMEND_TRY(read_integers(unpacker_, BlockKind::kIno, Coding::kDelta, e.ino));
    VFSMEND_TRY(take(3 * sizeof(std::uint64_t) * count_));
    VFSMEND_TRY(read_text(BlockKind::kName, e.name, [this](Bytes raw) {
      return columns::get_names(raw, count_, memory_);
    }));
    VFSMEND_TRY(take(e.name.bytes().size()));
    VFSMEND_TRY(read_text(BlockKind::kTarget, e.target, [this](Bytes raw) {
      return columns::get_texts(raw, count_);
    }));
    VFSMEND_TRY(read_text(BlockKind::kHandle, e.handle, [&e](Bytes raw) {
      return columns::get_handles(raw, e.ino);
    }));
    return find(BlockKind::kHash) ? read_hash(e.hash) : Result<void>();
  }

  template <typename T>
  Result<void> read_integers(Unpacker& unpacker, BlockKind kind, Coding coding,
                             Column<T>& column) const {
    VFSMEND_TRY_ASSIGN(const Bytes raw, unpacker.unpack(*find(kind)));  // check_sizes found it
    column = columns::get_column<T>(raw, count_, coding);
    return {};
  }

  template <typename Get>
  Result<void> read_text(BlockKind kind, TextColumn& column, Get get) {
    VFSMEND_TRY_ASSIGN(const Bytes raw, unpack(kind));
    Result<TextColumn> texts = get(raw);
    if (!texts) return at(kind, texts.error());
    column = *std::move(texts);
    return {};
  }

  Result<void> read_hash(std::vector<std::array<std::uint64_t, 2>>& hash) {
    VFSMEND_TRY_ASSIGN(const Bytes raw, unpack(BlockKind::kHash));
    const auto halves = columns::get_integers<std::uint64_t>(raw, Coding::kPlain);
    hash.resize(count_);
    for (std::size_t i = 0; i < count_; ++i) hash[i] = {halves[2 * i], halves[2 * i + 1]};
    return {};
  }

  Unpacker& unpacker_;
  Unpacker& helpers_;
  std::uint64_t& memory_;
  std::array<const Block*, kKinds> blocks_{};
  std::size_t count_ = 0;
};

}  // namespace

Result<ByteVector> encode_manifest(const Manifest& manifest, sys::SecondThread* second) {
  BlockWriter out;
  out.add(BlockKind::kFacts, 0, encode_facts(manifest.facts));
  sys::SecondThread own;
  std::uint32_t number = 0;
  for (const ManifestSection& section : manifest.sections) {
    VFSMEND_CHECK(has_one_length(section.entries));
    VFSMEND_CHECK(check_consistent(section));
    encode_section(section, ++number, second != nullptr ? *second : own, out);
  }
  if (out.raw_size() > kMaxManifestMemory) {
    return fail(ErrorCode::kLimit,
                fmt::format("a manifest of {} bytes, more than {}", out.raw_size(),
                            kMaxManifestMemory));
  }
  return out.finish();
}

Result<Manifest> decode_manifest(Bytes bytes) {
  VFSMEND_TRY_ASSIGN(const std::vector<Block> blocks, read_blocks(bytes));
  std::uint64_t memory = kMaxManifestMemory;
  for (const Block& block : blocks) memory -= block.raw_size;
  if (blocks.empty() || blocks[0].section != 0 || blocks[0].kind != BlockKind::kFacts) {
    return fail(ErrorCode::kFormat, "byte 24: the first block is not the facts of the file");
  }
  Unpacker unpacker(blocks);
  Unpacker helpers(blocks);
  Manifest manifest;
  VFSMEND_TRY_ASSIGN(const Bytes raw, unpacker.unpack(blocks[0]));
  auto facts = decode_facts(raw, memory);
  if (!facts) return tl::make_unexpected(std::move(facts).error().context(place_of(blocks[0])));
  manifest.facts = *std::move(facts);
  for (std::size_t i = 1; i < blocks.size();) {
    const std::uint32_t number = blocks[i].section;
    if (number != manifest.sections.size() + 1 || blocks[i].kind != BlockKind::kSection) {
      return fail(ErrorCode::kFormat, place_of(blocks[i]) + ": not where a section begins");
    }
    SectionReader reader(unpacker, helpers, memory);
    for (; i < blocks.size() && blocks[i].section == number; ++i) reader.add(blocks[i]);
    auto section = reader.read();
    if (!section) {
      return tl::make_unexpected(
          std::move(section).error().context(fmt::format("section {}", number)));
    }
    manifest.sections.push_back(*std::move(section));
  }
  return manifest;
}

}  // namespace vfsmend
