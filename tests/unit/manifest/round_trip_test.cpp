// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "support/manifest_builder.h"

namespace vfsmend {
namespace {

using rc::gen::arbitrary;
using rc::gen::inRange;

// Any bytes but NUL and '/', or something long, or with a beginning that is usual.
std::string odd_name() {
  switch (*inRange(0, 4)) {
    case 0: return std::string(static_cast<std::size_t>(*inRange(1, 300)), 'n');
    case 1: return "lib" + std::to_string(*inRange(0, 20));
    case 2: return "\xff\n\xc3 \x1b[31m";
    default: return *arbitrary<std::string>();
  }
}

std::vector<std::pair<std::string, std::string>> facts() {
  const auto map = *arbitrary<std::map<std::string, std::string>>();
  return {map.begin(), map.end()};
}

void add_random_entry(ManifestSection& section, bool with_hash) {
  EntryTable& e = section.entries;
  const auto here = static_cast<std::uint32_t>(e.size_of());
  const std::uint32_t parent = here == 0 ? kNoParent : *inRange<std::uint32_t>(0, here);
  test::add_entry(e, parent, here == 0 ? "" : odd_name(), *arbitrary<std::uint32_t>(),
                  *arbitrary<std::uint64_t>(), *arbitrary<std::int64_t>());
  e.node.back() = *arbitrary<std::uint64_t>();
  e.uid.back() = *arbitrary<std::uint32_t>();
  e.gid.back() = *arbitrary<std::uint32_t>();
  e.nlink.back() = *arbitrary<std::uint32_t>();
  e.size.back() = *arbitrary<std::uint64_t>();
  e.device.back() = *inRange<std::uint32_t>(0, static_cast<std::uint32_t>(section.devices.size()));
  e.rdev.back() = *arbitrary<std::uint64_t>();
  e.mtime.back() = *rc::gen::elementOf(std::vector<std::int64_t>{kNoTime, 0, -1, e.btime.back()});
  e.handle_type.back() = *arbitrary<std::int32_t>();
  e.xattrs.back() =
      *inRange<std::uint32_t>(0, static_cast<std::uint32_t>(section.xattr_sets.size()));
  e.notes.back() = *arbitrary<std::uint8_t>();
  if (with_hash) e.hash.push_back({*arbitrary<std::uint64_t>(), *arbitrary<std::uint64_t>()});
}

ManifestSection random_section() {
  ManifestSection out;
  out.device = *arbitrary<std::string>();
  out.share = *arbitrary<std::string>();
  out.real_share = *arbitrary<std::string>();
  out.fs_magic = *arbitrary<std::uint64_t>();
  out.fs_id = *arbitrary<std::uint64_t>();
  out.whole_tree = *arbitrary<bool>();
  out.facts = facts();
  out.devices = *rc::gen::nonEmpty<std::vector<std::uint64_t>>();
  out.xattr_sets = {{}};
  for (int i = *inRange(0, 3); i > 0; --i) out.xattr_sets.push_back(facts());
  for (int i = *inRange(0, 3); i > 0; --i) {
    out.mounts.push_back({*arbitrary<std::uint64_t>(), *arbitrary<std::string>(), "ext4",
                          *arbitrary<std::string>(), *arbitrary<std::string>(), *arbitrary<bool>(),
                          *arbitrary<bool>()});
  }
  const bool with_hash = *arbitrary<bool>();
  for (int i = *inRange(0, 12); i > 0; --i) add_random_entry(out, with_hash);
  return out;
}

RC_GTEST_PROP(ManifestFile, DecodingWhatWasEncodedGivesTheSame, ()) {
  Manifest manifest;
  manifest.facts = facts();
  for (int i = *inRange(0, 3); i > 0; --i) manifest.sections.push_back(random_section());
  const ByteVector file = test::encoded(manifest);
  const auto again = decode_manifest(file);
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == manifest);
  RC_ASSERT(test::encoded(*again) == file);
}

TEST(ManifestFile, NothingIsAManifestToo) {
  EXPECT_EQ(decode_manifest(test::encoded({})).value(), Manifest{});
  Manifest one;
  one.sections.emplace_back();  // without a list of attributes even
  EXPECT_EQ(decode_manifest(test::encoded(one)).value(), one);
}

TEST(ManifestFile, SmallOne) {
  const Manifest manifest = test::small_manifest();
  EXPECT_EQ(decode_manifest(test::encoded(manifest)).value(), manifest);
}

TEST(ManifestFile, BytesThatAreAlignedNowhere) {
  const ByteVector file = test::encoded(test::small_manifest());
  ByteVector shifted(1, 0);
  shifted.insert(shifted.end(), file.begin(), file.end());
  EXPECT_EQ(decode_manifest(Bytes(shifted).subspan(1)).value(), test::small_manifest());
}

TEST(ManifestFile, ATreeTakesTwentyFiveBytesAnEntryAtMost) {
  constexpr std::uint32_t kEntries = 20'000;
  const Manifest tree = test::synthetic_tree(kEntries);
  const ByteVector file = test::encoded(tree);
  EXPECT_LT(file.size(), 25U * kEntries);
  EXPECT_EQ(decode_manifest(file).value(), tree);
}

// Large enough for a second thread.
TEST(ManifestFile, ALargeTree) {
  const Manifest tree = test::synthetic_tree(40'000);
  EXPECT_TRUE(decode_manifest(test::encoded(tree)).value() == tree);
}

}  // namespace
}  // namespace vfsmend
