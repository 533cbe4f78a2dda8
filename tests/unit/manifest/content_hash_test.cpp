// SPDX-License-Identifier: Apache-2.0
// The same hash however the bytes come: in one go, piece by piece, or out of a file of any size.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "manifest/content_hash.h"
#include "support/temp_dir.h"
#include "sys/unique_fd.h"

namespace vfsmend {
namespace {

constexpr std::size_t kRead = std::size_t{256} << 10;  // what is read at a time

std::string content(std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 31 + i / 251 + i / kRead);
  return out;
}

TEST(ContentHash, OfNothingAndOfAText) {
  // As `xxhsum -H2` prints them.
  EXPECT_EQ(content_hash({}), (ContentHash{0x6001c324468d497f, 0x99aa06d3014798d8}));
  EXPECT_EQ(content_hash(as_bytes("vfsmend")), (ContentHash{0xb34db000d20b704a, 0x47b0972a6ba7e9f7}));
}

TEST(ContentHash, OfFilesOfEverySize) {
  const test::TempDir dir;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kRead - 1, kRead, kRead + 1, 2 * kRead, 5 * kRead + 7}) {
    const std::string text = content(size);
    const sys::UniqueFd fd(::open(dir.write("f", text + "more").c_str(), O_RDONLY | O_CLOEXEC));
    const auto hash = hash_content(sys::kernel(), fd.get(), size);
    ASSERT_TRUE(hash) << hash.error().text;
    EXPECT_EQ(*hash, content_hash(as_bytes(text))) << size;
    const auto beyond = hash_content(sys::kernel(), fd.get(), size + 5);
    ASSERT_FALSE(beyond) << size;
    EXPECT_EQ(beyond.error().code, ErrorCode::kFormat);
  }
}

TEST(ContentHash, PieceByPiece) {
  const std::string text = content(100'000);
  ContentHasher hasher;
  EXPECT_EQ(hasher.hash(), content_hash({}));
  for (std::size_t at = 0, step = 1; at < text.size(); at += step, step = step * 3 / 2 + 1) {
    hasher.add(as_bytes(std::string_view(text).substr(at, step)));
  }
  EXPECT_EQ(hasher.hash(), content_hash(as_bytes(text)));
}

}  // namespace
}  // namespace vfsmend
