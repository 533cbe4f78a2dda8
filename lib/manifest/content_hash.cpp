// SPDX-License-Identifier: Apache-2.0
#include "manifest/content_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "sys/read_file.h"

namespace vfsmend {
namespace {

// Bytes read at a time: they are still in the processor's own cache when they are hashed.
constexpr std::size_t kPiece = std::size_t{256} << 10;

ContentHash pair_of(const XXH128_hash_t& hash) { return {hash.low64, hash.high64}; }

// Kept for the next file: most are small, and fresh memory would cost more than to read them.
std::span<std::uint8_t> room() {
  thread_local const auto bytes = std::make_unique_for_overwrite<std::uint8_t[]>(kPiece);
  return {bytes.get(), kPiece};
}

}  // namespace

ContentHash content_hash(Bytes bytes) { return pair_of(XXH3_128bits(bytes.data(), bytes.size())); }

Result<ContentHash> hash_content(sys::Calls& calls, int fd, std::uint64_t size) {
  const auto read = [&](std::uint64_t at) -> Result<Bytes> {
    const auto piece = room().first(std::min<std::uint64_t>(kPiece, size - at));
    VFSMEND_TRY(sys::read_exactly(calls, fd, piece, at));
    return Bytes(piece);
  };
  if (size <= kPiece) {
    VFSMEND_TRY_ASSIGN(const Bytes all, read(0));
    return content_hash(all);
  }
  ContentHasher hasher;
  for (std::uint64_t at = 0; at < size; at += kPiece) {
    VFSMEND_TRY_ASSIGN(const Bytes piece, read(at));
    hasher.add(piece);
  }
  return hasher.hash();
}

struct ContentHasher::State {
  XXH3_state_t xxh3;
};

ContentHasher::ContentHasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh3); }
ContentHasher::~ContentHasher() = default;

void ContentHasher::add(Bytes piece) { XXH3_128bits_update(&state_->xxh3, piece.data(), piece.size()); }

ContentHash ContentHasher::hash() const { return pair_of(XXH3_128bits_digest(&state_->xxh3)); }

}  // namespace vfsmend
