// SPDX-License-Identifier: Apache-2.0
// The column of file handles; columns.h has its grammar.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "manifest/columns.h"
#include "manifest/shuffle.h"
#include "manifest/text_room.h"

namespace vfsmend::columns {
namespace {

constexpr std::uint8_t kNoIno = 255;
constexpr std::size_t kInoBytes = 4;
constexpr std::size_t kSample = 64;  // handles asked where the inode number stands in them

std::uint8_t ino_byte(std::uint64_t ino, std::size_t i) {
  return static_cast<std::uint8_t>(ino >> (8 * i));
}

bool has_ino_at(std::string_view handle, std::size_t at, std::uint64_t ino) {
  if (handle.size() < at + kInoBytes) return false;
  for (std::size_t i = 0; i < kInoBytes; ++i) {
    if (static_cast<std::uint8_t>(handle[at + i]) != ino_byte(ino, i)) return false;
  }
  return true;
}

// Where most of the first handles have the inode number.
std::uint8_t find_ino(const TextColumn& handles, const Column<std::uint64_t>& ino) {
  const std::size_t sample = std::min(handles.size(), kSample);
  for (std::size_t at = 0; at + kInoBytes <= kMaxHandleBytes; ++at) {
    std::size_t hits = 0;
    for (std::size_t i = 0; i < sample; ++i) hits += has_ino_at(handles[i], at, ino[i]) ? 1 : 0;
    if (hits * 2 > sample) return static_cast<std::uint8_t>(at);
  }
  return kNoIno;
}

// Its own inverse.
void xor_ino(std::span<char> bytes, std::span<const std::uint64_t> ends,
             const Column<std::uint64_t>& ino, std::size_t at) {
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] - begin >= at + kInoBytes) {
      for (std::size_t k = 0; k < kInoBytes; ++k) {
        char& c = bytes[begin + at + k];
        c = static_cast<char>(static_cast<std::uint8_t>(c) ^ ino_byte(ino[i], k));
      }
    }
    begin = ends[i];
  }
}

// Calls visit(position in the column's bytes) in the order of the file.
template <typename Visit>
void by_position(std::span<const std::uint64_t> ends, std::size_t longest, Visit visit) {
  for (std::size_t position = 0; position < longest; ++position) {
    std::uint64_t begin = 0;
    for (const std::uint64_t end : ends) {
      if (end - begin > position) visit(begin + position);
      begin = end;
    }
  }
}

// What the low bytes of an inode number, which begin at `at` of a handle, are in its eight bytes
// from `group` on.
std::uint64_t ino_in_group(std::uint64_t ino, std::size_t at, std::size_t group) {
  ino &= 0xffffffff;
  return at >= group ? ino << (8 * (at - group)) : ino >> (8 * (group - at));
}

// XORs the numbers of the inodes from `first` on into the eight bytes from `group` on. Its own inverse.
void xor_group(std::span<std::uint64_t> run, const Column<std::uint64_t>& ino, std::size_t first,
               std::size_t ino_at, std::size_t group) {
  if (ino_at >= group + sizeof(std::uint64_t) || group >= ino_at + kInoBytes) return;
  for (std::size_t i = 0; i < run.size(); ++i) run[i] ^= ino_in_group(ino[first + i], ino_at, group);
}

// The low `bytes` of each number, `length` apart.
void put_groups(std::span<const std::uint64_t> run, std::size_t bytes, std::size_t length,
                char* to) {
  for (const std::uint64_t value : run) {
    if (bytes == sizeof(value)) {
      for (std::size_t k = 0; k < sizeof(value); ++k) to[k] = static_cast<char>(value >> (8 * k));
    } else {
      for (std::size_t k = 0; k < bytes; ++k) to[k] = static_cast<char>(value >> (8 * k));
    }
    to += length;
  }
}

// The inverse of put_groups.
void get_groups(const char* from, std::size_t bytes, std::size_t length,
                std::span<std::uint64_t> run) {
  const auto get = [&from](std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t k = 0; k < count; ++k) {
      value |= std::uint64_t{static_cast<std::uint8_t>(from[k])} << (8 * k);
    }
    return value;
  };
  for (std::uint64_t& value : run) {
    value = bytes == sizeof(value) ? get(sizeof(value)) : get(bytes);
    from += length;
  }
}

// Handles of one length, the usual case: eight bytes of each at a time, which are one number.
void join_handles(const std::uint8_t* planes, std::size_t length, std::uint8_t ino_at,
                  const Column<std::uint64_t>& ino, char* to) {
  const bool has_ino = ino_at + kInoBytes <= length;
  std::array<std::uint64_t, kRun> room;
  for (std::size_t first = 0; first < ino.size(); first += kRun) {
    const std::span<std::uint64_t> run(room.data(), std::min(kRun, ino.size() - first));
    for (std::size_t group = 0; group < length; group += sizeof(room[0])) {
      const std::size_t bytes = std::min(sizeof(room[0]), length - group);
      if (!unshuffle(planes + group * ino.size() + first, ino.size(), bytes, run)) {
        std::fill(run.begin(), run.end(), 0);
      }
      if (has_ino) xor_group(run, ino, first, ino_at, group);
      put_groups(run, bytes, length, to + first * length + group);
    }
  }
}

// The inverse of join_handles.
void split_handles(const char* from, std::size_t length, std::uint8_t ino_at,
                   const Column<std::uint64_t>& ino, std::uint8_t* planes) {
  const bool has_ino = ino_at + kInoBytes <= length;
  std::array<std::uint64_t, kRun> room;
  for (std::size_t first = 0; first < ino.size(); first += kRun) {
    const std::span<std::uint64_t> run(room.data(), std::min(kRun, ino.size() - first));
    for (std::size_t group = 0; group < length; group += sizeof(room[0])) {
      const std::size_t bytes = std::min(sizeof(room[0]), length - group);
      get_groups(from + first * length + group, bytes, length, run);
      if (has_ino) xor_group(run, ino, first, ino_at, group);
      shuffle<std::uint64_t>(run, planes + group * ino.size() + first, ino.size(), bytes);
    }
  }
}

}  // namespace

void put_handles(ColumnBytes& out, const TextColumn& handles, const Column<std::uint64_t>& ino) {
  const std::uint8_t at = find_ino(handles, ino);
  std::vector<std::uint64_t> ends(handles.size());
  std::size_t longest = 0;
  out.push_back(at);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const std::size_t size = handles[i].size();
    VFSMEND_CHECK(size <= kMaxHandleBytes);
    out.push_back(static_cast<std::uint8_t>(size));
    longest = std::max(longest, size);
    ends[i] = handles.end_of(i);
  }
  const std::size_t begin = out.size();
  out.resize(begin + handles.bytes().size());
  if (handles.bytes().size() == longest * handles.size()) {
    split_handles(handles.bytes().data(), longest, at, ino, out.data() + begin);
    return;
  }
  std::string bytes(handles.bytes());
  if (at != kNoIno) xor_ino(bytes, ends, ino, at);
  std::uint8_t* to = out.data() + begin;
  by_position(ends, longest, [&](std::uint64_t i) { *to++ = static_cast<std::uint8_t>(bytes[i]); });
}

Result<TextColumn> get_handles(Bytes raw, const Column<std::uint64_t>& ino) {
  const std::size_t count = ino.size();
  if (raw.size() < 1 + count) return wrong("too short for its lengths");
  const Bytes lengths = raw.subspan(1, count);
  const Bytes planes = raw.subspan(1 + count);
  std::uint8_t longest = 0;
  std::uint64_t total = 0;
  for (const std::uint8_t length : lengths) {
    longest = std::max(longest, length);
    total += length;
  }
  if (longest > kMaxHandleBytes) return wrong(fmt::format("a handle of {} bytes", longest));
  if (total != planes.size()) {
    return wrong(fmt::format("{} bytes of handles, where their lengths say {}", planes.size(),
                             total));
  }
  TextBytes bytes = room_for_text(total);
  if (total == longest * count) {
    join_handles(planes.data(), longest, raw[0], ino, bytes.data());
    return TextColumn(std::move(bytes), count);
  }
  std::vector<std::uint64_t> ends = room_for_ends(count);
  std::uint64_t end = 0;
  for (const std::uint8_t length : lengths) ends.push_back(end += length);
  const std::uint8_t* from = planes.data();
  by_position(ends, longest, [&](std::uint64_t i) { bytes[i] = static_cast<char>(*from++); });
  if (raw[0] != kNoIno) xor_ino(bytes, ends, ino, raw[0]);
  return TextColumn(std::move(bytes), std::move(ends));
}

}  // namespace vfsmend::columns
