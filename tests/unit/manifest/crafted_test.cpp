// SPDX-License-Identifier: Apache-2.0
// Files whose checksums are all good, and whose insides are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manifest/section_head.h"
#include "support/manifest_builder.h"

namespace vfsmend {
namespace {

using test::LooseBlock;
using testing::HasSubstr;
using testing::StartsWith;

const Error kRead{ErrorCode::kUsage, 0, "it was read"};

Error error_of(Bytes file) {
  const auto decoded = decode_manifest(file);
  return decoded ? kRead : decoded.error();
}

std::vector<LooseBlock> small_blocks() {
  return test::take_apart(test::encoded(test::small_manifest()));
}

// The text of the refusal after `change` was made to the block `kind` of section 1.
template <typename Change>
std::string after(BlockKind kind, Change change) {
  std::vector<LooseBlock> blocks = small_blocks();
  for (LooseBlock& block : blocks) {
    if (block.section == 1 && block.kind == kind) change(block.raw);
  }
  const Error error = error_of(test::put_together(blocks));
  EXPECT_EQ(error.code, ErrorCode::kFormat);
  return error.text;
}

// The small manifest with `change` made to its table or blocks, and the checksums made right.
template <typename Change>
Error after_repair(Change change) {
  ByteVector file = test::encoded(test::small_manifest());
  change(file);
  test::repair_checksums(file);
  return error_of(file);
}

constexpr std::size_t entry_at(std::size_t i) { return kManifestHeader + i * kManifestEntry; }

TEST(CraftedManifest, TakenApartAndPutTogetherItIsTheSame) {
  const ByteVector file = test::encoded(test::small_manifest());
  EXPECT_EQ(test::put_together(test::take_apart(file)), file);
  EXPECT_EQ(after_repair([](ByteVector&) {}).text, kRead.text);
}

TEST(CraftedManifest, ColumnsOfDifferentLengths) {
  const auto longer = [](ByteVector& raw) { raw.push_back(0); };
  const auto shorter = [](ByteVector& raw) { raw.pop_back(); };
  EXPECT_THAT(after(BlockKind::kMode, longer), HasSubstr(": 21 bytes, not 20"));
  EXPECT_THAT(after(BlockKind::kMtime, shorter), HasSubstr(": 39 bytes, not 40"));
  EXPECT_THAT(after(BlockKind::kHash, shorter), HasSubstr(": 79 bytes, not 80"));
  EXPECT_THAT(after(BlockKind::kNotes, [](ByteVector& raw) { raw.clear(); }),
              HasSubstr(": 0 bytes, not 5"));
  EXPECT_THAT(after(BlockKind::kName, longer), HasSubstr("where its lengths say"));
  EXPECT_THAT(after(BlockKind::kTarget, shorter), HasSubstr("too short for its lengths"));
  EXPECT_THAT(after(BlockKind::kHandle, shorter), HasSubstr("where their lengths say 40"));
  EXPECT_THAT(after(BlockKind::kSection, [](ByteVector& raw) { raw.back() = 6; }),
              HasSubstr(": 20 bytes, not 24"));
}

// One value for any number of entries asks for no memory; what has one each bounds how many.
TEST(CraftedManifest, MoreEntriesThanThereAreNames) {
  std::vector<LooseBlock> blocks = test::take_apart(test::encoded(test::synthetic_tree(1)));
  for (LooseBlock& block : blocks) {
    if (block.kind == BlockKind::kSection) {
      block.raw.back() = 0xff;  // entries, LEB128
      block.raw.insert(block.raw.end(), {0xff, 0xff, 0xff, 0x0e});
    }
  }
  const Error all = error_of(test::put_together(blocks));
  EXPECT_EQ(all.code, ErrorCode::kLimit);
  EXPECT_EQ(all.text, "section 1: more memory than a manifest may take");
  for (LooseBlock& block : blocks) {
    if (block.kind != BlockKind::kSection) continue;
    block.raw.resize(block.raw.size() - 3);
    block.raw.back() = 3;
  }
  EXPECT_THAT(error_of(test::put_together(blocks)).text, HasSubstr("too short for its lengths"));
}

TEST(CraftedManifest, AParentBehindItsChild) {
  // Differences, zigzag: 0 after kNoParent is +1, so that 4 gives entry 1 the parent 1, itself.
  EXPECT_THAT(after(BlockKind::kParent, [](ByteVector& raw) { raw[1] = 4; }),
              StartsWith("section 1: parent[1]: 1 does not stand before it"));
}

TEST(CraftedManifest, PositionsOutsideTheirLists) {
  EXPECT_EQ(after(BlockKind::kDevice, [](ByteVector& raw) { raw[0] = 1; }),  // of all, held once
            "section 1: device[0]: position 1 of 1");
  EXPECT_EQ(after(BlockKind::kDevice, [](ByteVector& raw) { raw.assign(20, 0), raw[3] = 1; }),
            "section 1: device[3]: position 1 of 1");
  EXPECT_EQ(after(BlockKind::kXattrs, [](ByteVector& raw) { raw.back() = 1; }),
            "section 1: xattrs[4]: position 16777216 of 2");
}

TEST(CraftedManifest, AttributesThatDoNotAscend) {
  const auto change = [](std::string_view from, std::string_view to) {
    return after(BlockKind::kSection, [&](ByteVector& raw) {
      const auto found = std::search(raw.begin(), raw.end(), from.begin(), from.end());
      ASSERT_NE(found, raw.end());
      std::copy(to.begin(), to.end(), found);
    });
  };
  EXPECT_EQ(change("user.a", "aser.a"), "section 1: xattr_sets[1]: name 1 does not ascend");
  Manifest twice = test::small_manifest();
  twice.sections[0].xattr_sets[1][0].first = "user.a";
  ASSERT_FALSE(check_consistent(twice.sections[0]));
}

TEST(CraftedManifest, HeadsThatAreNone) {
  EXPECT_THAT(after(BlockKind::kSection, [](ByteVector& raw) { raw.push_back(0); }),
              HasSubstr("1 bytes behind its end"));
  EXPECT_THAT(after(BlockKind::kSection, [](ByteVector& raw) { raw.pop_back(); }),
              HasSubstr("Hit the end of buffer"));
  std::vector<LooseBlock> blocks = small_blocks();
  blocks[0].raw = {0xff, 0xff, 0xff, 0xff, 0x0f};  // so many facts, and none of them
  EXPECT_THAT(error_of(test::put_together(blocks)).text,
              HasSubstr("block facts of section 0 at byte 1376: its byte 5: Hit the end"));
}

TEST(CraftedManifest, SizesThatCannotBe) {
  const auto raw_size = [](std::uint64_t size) {
    return after_repair([&](ByteVector& file) { test::set_le(file, entry_at(2) + 8, size); });
  };
  EXPECT_EQ(raw_size(~0ULL).code, ErrorCode::kLimit);
  EXPECT_THAT(raw_size(~0ULL).text, HasSubstr("block parent of section 1 at byte"));
  EXPECT_THAT(raw_size(1ULL << 30).text, HasSubstr("1073741824 bytes cannot come out of"));
  EXPECT_THAT(raw_size(1).text, HasSubstr("which is more"));
  // A size that zstd could reach is refused by the length of the column, before it is expanded.
  EXPECT_THAT(raw_size(400'000).text, HasSubstr(": 400000 bytes, not 20"));
}

TEST(CraftedManifest, MoreThanFourGibibytesInAll) {
  BlockWriter out;
  const ByteVector zeros(64 << 20);
  out.add(BlockKind::kFacts, 0, zeros);
  ByteVector one = out.finish();
  const auto stored = le_at<std::uint64_t>(one, entry_at(0) + 16);
  const Bytes frame = Bytes(one).subspan(entry_at(1) + kManifestSum, stored);
  ByteVector file(entry_at(65) + kManifestSum);
  test::set_le(file, 12, 65, 4);
  for (std::size_t i = 0; i < 65; ++i) {
    test::set_le(file, entry_at(i), i == 0 ? 1 : 2, 4);
    test::set_le(file, entry_at(i) + 4, i, 4);
    test::set_le(file, entry_at(i) + 8, zeros.size());
    test::set_le(file, entry_at(i) + 16, stored);
    file.insert(file.end(), frame.begin(), frame.end());
  }
  test::repair_checksums(file);
  const Error error = error_of(file);
  EXPECT_EQ(error.code, ErrorCode::kLimit);
  EXPECT_THAT(error.text, HasSubstr("block section of section 64"));
  EXPECT_THAT(error.text, HasSubstr("the manifest has more than 4294967296"));
}

// A count of attribute sets that is in the bytes, each set one of them and 24 in memory.
TEST(CraftedManifest, AHeadThatGrowsInMemory) {
  ManifestSection section;
  std::uint64_t memory = 1000;
  section.xattr_sets.assign(100, {});
  ManifestSection again;
  const auto decoded = decode_section_head(encode_section_head(section), memory, again);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kLimit);
}

TEST(CraftedManifest, BlocksThatOverlapOrLeaveBytes) {
  const auto stored_size = [](std::int64_t more) {
    return after_repair([&](ByteVector& file) {
      const std::size_t at = entry_at(41) + 16;  // the last
      test::set_le(file, at, le_at<std::uint64_t>(file, at) + static_cast<std::uint64_t>(more));
    });
  };
  EXPECT_THAT(stored_size(1).text, HasSubstr("goes beyond the file's end"));
  EXPECT_THAT(stored_size(-1).text, HasSubstr("1 bytes are in no block"));
  EXPECT_THAT(after_repair([](ByteVector& file) { test::set_le(file, entry_at(3) + 16, ~0ULL); })
                  .text,
              HasSubstr("goes beyond the file's end"));
}

TEST(CraftedManifest, NotZstd) {
  const ByteVector file = test::encoded(test::synthetic_tree(1000));
  const auto blocks = read_blocks(file);
  ASSERT_TRUE(blocks);
  const Block& sizes = (*blocks)[9];
  ASSERT_LT(sizes.stored.size(), sizes.raw_size);
  for (std::size_t at = 0; at < sizes.stored.size(); ++at) {
    ByteVector damaged = file;
    damaged[sizes.offset + at] ^= 0x5a;
    test::repair_checksums(damaged);
    const Error error = error_of(damaged);  // a literal may be another one, and still a size
    EXPECT_TRUE(error.code == ErrorCode::kFormat || error.text == kRead.text) << error.text;
    if (at == 0) {
      EXPECT_EQ(error.text, place_of(sizes).insert(0, "section 1: ") +
                                ": no zstd frame of its size");
    }
  }
}

TEST(CraftedManifest, BlocksThatAreNotExpected) {
  const auto kind = [](std::size_t entry, std::uint32_t number) {
    return after_repair(
               [&](ByteVector& file) { test::set_le(file, entry_at(entry), number, 4); })
        .text;
  };
  EXPECT_EQ(kind(5, 99), "byte 184: block kind 99 is not known");
  EXPECT_EQ(kind(5, 0), "byte 184: block kind 0 is not known");
  EXPECT_THAT(kind(5, 5), HasSubstr("stands behind a later one"));
  EXPECT_EQ(kind(0, 2), "byte 24: the first block is not the facts of the file");
  std::vector<LooseBlock> blocks = small_blocks();
  blocks.erase(blocks.begin() + 7);
  EXPECT_EQ(error_of(test::put_together(blocks)).text, "section 1: block gid is missing");
  blocks = small_blocks();
  for (LooseBlock& block : blocks) block.section += block.section == 2 ? 1 : 0;
  EXPECT_THAT(error_of(test::put_together(blocks)).text, HasSubstr("not where a section begins"));
  EXPECT_EQ(error_of(test::put_together({})).text,
            "byte 24: the first block is not the facts of the file");
}

}  // namespace
}  // namespace vfsmend
