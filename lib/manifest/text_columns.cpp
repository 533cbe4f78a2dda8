// SPDX-License-Identifier: Apache-2.0
// The columns of texts and of names; columns.h has their grammar.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "manifest/columns.h"
#include "manifest/shuffle.h"
#include "manifest/text_room.h"

namespace vfsmend::columns {
namespace {

constexpr std::size_t kMaxShared = 255;
constexpr std::size_t kShort = 32;  // bytes that are copied without asking how many

TextBytes copy_of(Bytes text) {
  TextBytes bytes = room_for_text(text.size());
  std::copy(text.begin(), text.end(), bytes.begin());
  return bytes;
}

// Of two eight bytes that differ: the position of the first that does.
std::size_t first_different(std::uint64_t x, std::uint64_t y) {
  const int bits = std::endian::native == std::endian::little ? std::countr_zero(x ^ y)
                                                              : std::countl_zero(x ^ y);
  return static_cast<std::size_t>(bits) / 8;
}

// How many of the first `most` bytes are the same; of both so many `readable` ones are there, which
// are compared eight at a time.
std::size_t shared_length(const char* a, const char* b, std::size_t most, std::size_t readable) {
  std::size_t at = 0;
  while (at < most && at + sizeof(std::uint64_t) <= readable) {
    std::uint64_t x = 0;
    std::uint64_t y = 0;
    std::memcpy(&x, a + at, sizeof x);
    std::memcpy(&y, b + at, sizeof y);
    if (x != y) return std::min(most, at + first_different(x, y));
    at += sizeof x;
  }
  while (at < most && a[at] == b[at]) ++at;
  return std::min(at, most);
}

// Copies `size` bytes; where `from` and `to` both have kShort, what follows them in `to` is lost.
void copy_text(const void* from, std::size_t size, char* to, bool both_have_room) {
  if (both_have_room && size <= kShort) {
    std::array<char, kShort> all;  // they may overlap
    std::memcpy(all.data(), from, kShort);
    std::memcpy(to, all.data(), kShort);
  } else if (size > 0) {
    std::memmove(to, from, size);
  }
}

// `shared` of each and the rests one behind the other, into bytes with kShort beyond the last.
void join_names(Bytes shared, Bytes rests, std::span<const std::uint64_t> ends, char* bytes) {
  std::uint64_t last = 0;
  std::uint64_t begin = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::size_t rest = ends[i] - begin - shared[i];
    copy_text(bytes + last, shared[i], bytes + begin, true);
    copy_text(rests.data() + from, rest, bytes + begin + shared[i], rests.size() - from >= kShort);
    from += rest;
    last = begin;
    begin = ends[i];
  }
}

}  // namespace

void put_texts(ColumnBytes& out, const TextColumn& texts) {
  Column<std::uint32_t> lengths;
  lengths.reserve(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    lengths.push_back(static_cast<std::uint32_t>(texts[i].size()));
  }
  put_integers(out, lengths, Coding::kPlain);
  const Bytes bytes = as_bytes(texts.bytes());
  out.insert(out.end(), bytes.begin(), bytes.end());
}

Result<TextColumn> get_texts(Bytes raw, std::size_t count) {
  if (raw.size() / sizeof(std::uint32_t) < count) return wrong("too short for its lengths");
  const auto lengths =
      get_integers<std::uint32_t>(raw.first(count * sizeof(std::uint32_t)), Coding::kPlain);
  const Bytes bytes = raw.subspan(count * sizeof(std::uint32_t));
  std::uint64_t total = 0;
  for (const std::uint32_t length : lengths) total += length;
  if (total != bytes.size()) {
    return wrong(fmt::format("{} bytes of text, where its lengths say {}", bytes.size(), total));
  }
  if (lengths.held().size() < count) return TextColumn(copy_of(bytes), count);
  std::vector<std::uint64_t> ends = room_for_ends(count);
  std::uint64_t end = 0;
  for (const std::uint32_t length : lengths) ends.push_back(end += length);
  return TextColumn(copy_of(bytes), std::move(ends));
}

void put_names(ColumnBytes& out, const TextColumn& names) {
  const std::size_t count = names.size();
  const std::size_t begin = out.size();
  // First as if no name shared anything, and with room for whole steps of a copy.
  const std::size_t rests_at = begin + count * (1 + sizeof(std::uint32_t));
  out.resize(rests_at + names.bytes().size() + kShort);
  auto* rest_to = reinterpret_cast<char*>(out.data() + rests_at);
  Column<std::uint32_t> rests;
  rests.reserve(count);
  std::string_view last;
  const char* const end = names.bytes().data() + names.bytes().size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view name = names[i];
    const auto readable = static_cast<std::size_t>(end - name.data());
    const std::size_t most = std::min({last.size(), name.size(), kMaxShared});
    const std::size_t shared = shared_length(last.data(), name.data(), most, readable);
    const std::size_t rest = name.size() - shared;
    copy_text(name.data() + shared, rest, rest_to, readable - shared >= kShort);
    out[begin + i] = static_cast<std::uint8_t>(shared);
    rests.push_back(static_cast<std::uint32_t>(rest));
    rest_to += rest;
    last = name;
  }
  set_integers({out.data() + begin + count, count * sizeof(std::uint32_t)}, rests, Coding::kPlain);
  out.resize(static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(rest_to) - out.data()));
}

Result<TextColumn> get_names(Bytes raw, std::size_t count, std::uint64_t room) {
  if (raw.size() / (1 + sizeof(std::uint32_t)) < count) return wrong("too short for its lengths");
  const Bytes shared = raw.first(count);
  const Bytes rests = raw.subspan(count * (1 + sizeof(std::uint32_t)));
  std::vector<std::uint64_t> ends = room_for_ends(count);
  std::uint64_t end = 0;
  std::uint64_t shared_total = 0;
  std::uint64_t last_size = 0;
  std::size_t too_much = count;  // position of the first that shares more than there is
  for_each_run<std::uint32_t>(raw.subspan(count, count * sizeof(std::uint32_t)),
                              [&](std::size_t first, std::span<const std::uint32_t> lengths) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const std::uint8_t common = shared[first + i];
      if (common > last_size) too_much = std::min(too_much, first + i);
      last_size = std::uint64_t{common} + lengths[i];
      shared_total += common;
      ends.push_back(end += last_size);
    }
  });
  if (too_much < count) return wrong(fmt::format("[{}] shares more than there is", too_much));
  if (end - shared_total != rests.size()) {
    return wrong(fmt::format("{} bytes of text, where its lengths say {}", rests.size(),
                             end - shared_total));
  }
  if (end > room) return fail(ErrorCode::kLimit, fmt::format("{} bytes of text", end));
  TextBytes bytes = room_for_text(end + kShort);
  join_names(shared, rests, ends, bytes.data());
  bytes.resize(end);
  return TextColumn(std::move(bytes), std::move(ends));
}

}  // namespace vfsmend::columns
