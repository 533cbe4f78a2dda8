// SPDX-License-Identifier: Apache-2.0
// A column as bytes that compress well, for zstd to do the rest:
//
//   integers = shuffled(values)                   plain
//            | shuffled(zigzag(differences))      delta: each to the one before, the first to 0
//   column   = integers; where all are the same, of the first alone
//   texts    = plain lengths:u32, then the bytes
//   names    = shared:u8 each, plain lengths:u32 of the rests, then the rests: what a name shares
//              with the one before it, up to 255 bytes, is not repeated
//   handles  = ino_at:u8 length:u8 each, then all first bytes, all second bytes, ..; the four bytes
//              from ino_at on are XORed with the low ones of the inode number, where the handle has
//              them (255: in none), since most file systems put it there
//
// "Shuffled": all first (lowest) bytes, then all second bytes, .. . Differences wrap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "manifest/manifest.h"

namespace vfsmend::columns {

enum class Coding { kPlain, kDelta };

// T: 8, 32 or 64 bits, signed ones as their two's complement.
template <typename T>
void put_integers(ColumnBytes& out, const Column<T>& values, Coding coding);
// The same into memory of just their size.
template <typename T>
void set_integers(std::span<std::uint8_t> planes, const Column<T>& values, Coding coding);
// The values in `raw`, which has the bytes of whole ones.
template <typename T>
[[nodiscard]] Column<T> get_integers(Bytes raw, Coding coding);

// Of a column of entries: as above, but only the first where all are the same.
template <typename T>
void put_column(ColumnBytes& out, const Column<T>& values, Coding coding);
// Whether so many bytes can be a column of `count`.
template <typename T>
[[nodiscard]] bool is_column_size(std::uint64_t raw_size, std::uint64_t count) {
  return raw_size == count * sizeof(T) || (raw_size == sizeof(T) && count > 0);
}
template <typename T>
[[nodiscard]] Column<T> get_column(Bytes raw, std::size_t count, Coding coding);

void put_texts(ColumnBytes& out, const TextColumn& texts);
void put_names(ColumnBytes& out, const TextColumn& names);
void put_handles(ColumnBytes& out, const TextColumn& handles, const Column<std::uint64_t>& ino);

// Of `count` texts; kFormat where `raw` holds others. At most `room` bytes of text (kLimit).
[[nodiscard]] Result<TextColumn> get_texts(Bytes raw, std::size_t count);
[[nodiscard]] Result<TextColumn> get_names(Bytes raw, std::size_t count, std::uint64_t room);
[[nodiscard]] Result<TextColumn> get_handles(Bytes raw, const Column<std::uint64_t>& ino);

}  // namespace vfsmend::columns
