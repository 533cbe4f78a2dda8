// SPDX-License-Identifier: Apache-2.0
#include "manifest/columns.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/check.h"

namespace vfsmend::columns {
namespace {

constexpr std::size_t kRun = 2048;  // values decoded at a time: they stay in the first cache
constexpr std::size_t kMaxShared = 255;
constexpr std::uint8_t kNoIno = 255;
constexpr std::size_t kInoBytes = 4;
constexpr std::size_t kSample = 64;  // handles asked where the inode number stands in them

template <typename U>
U zigzag(U difference) {
  const U sign = static_cast<U>(0) - static_cast<U>(difference >> (8 * sizeof(U) - 1));
  return static_cast<U>(static_cast<U>(difference << 1) ^ sign);
}

template <typename U>
U unzigzag(U z) {
  return static_cast<U>((z >> 1) ^ (static_cast<U>(0) - static_cast<U>(z & 1)));
}

// `plane` is where the run's first bytes are; its second ones are `stride` further.
template <typename U>
void unshuffle(const std::uint8_t* plane, std::size_t stride, std::span<U> run) {
  static constexpr std::array<std::uint8_t, kRun> kZeros{};
  for (std::size_t i = 0; i < run.size(); ++i) run[i] = plane[i];
  for (std::size_t byte = 1; byte < sizeof(U); ++byte) {
    plane += stride;
    if (std::memcmp(plane, kZeros.data(), run.size()) == 0) continue;  // most high bytes
    const std::size_t shift = 8 * byte;
    for (std::size_t i = 0; i < run.size(); ++i) {
      run[i] = static_cast<U>(run[i] | static_cast<U>(static_cast<U>(plane[i]) << shift));
    }
  }
}

tl::unexpected<Error> wrong(std::string text) { return fail(ErrorCode::kFormat, std::move(text)); }

std::vector<std::uint64_t> ends_of(std::span<const std::uint32_t> lengths) {
  std::vector<std::uint64_t> ends(lengths.size());
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) ends[i] = end += lengths[i];
  return ends;
}

std::vector<std::uint32_t> get_lengths(Bytes raw, std::size_t count) {
  std::vector<std::uint32_t> lengths;
  get_integers(raw.first(count * sizeof(std::uint32_t)), Coding::kPlain, lengths);
  return lengths;
}

std::size_t shared_length(std::string_view a, std::string_view b) {
  const std::size_t most = std::min({a.size(), b.size(), kMaxShared});
  return static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(most), b.begin()).first -
      a.begin());
}

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
std::uint8_t find_ino(const TextColumn& handles, std::span<const std::uint64_t> ino) {
  const std::size_t sample = std::min(handles.size(), kSample);
  for (std::size_t at = 0; at + kInoBytes <= kMaxHandleBytes; ++at) {
    std::size_t hits = 0;
    for (std::size_t i = 0; i < sample; ++i) hits += has_ino_at(handles[i], at, ino[i]) ? 1 : 0;
    if (hits * 2 > sample) return static_cast<std::uint8_t>(at);
  }
  return kNoIno;
}

// Its own inverse.
void xor_ino(std::string& bytes, std::span<const std::uint64_t> ends,
             std::span<const std::uint64_t> ino, std::size_t at) {
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

// Handles of one length, the usual case, in one pass over memory that is new.
void spread(const std::uint8_t* from, std::size_t count, std::size_t length, char* to) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t position = 0; position < length; ++position) {
      *to++ = static_cast<char>(from[position * count + i]);
    }
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

}  // namespace

template <typename U>
void put_integers(ByteVector& out, std::span<const U> values, Coding coding) {
  const std::size_t begin = out.size();
  out.resize(begin + values.size_bytes());
  U last = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    U value = values[i];
    if (coding == Coding::kDelta) value = zigzag(static_cast<U>(value - last));
    last = values[i];
    for (std::size_t byte = 0; byte < sizeof(U); ++byte) {
      out[begin + byte * values.size() + i] = static_cast<std::uint8_t>(value >> (8 * byte));
    }
  }
}

// By way of a run in the cache: the column's memory, which is new, is touched once.
template <typename T>
void get_integers(Bytes raw, Coding coding, std::vector<T>& out) {
  using U = std::make_unsigned_t<T>;
  VFSMEND_CHECK(raw.size() % sizeof(U) == 0);
  const std::size_t count = raw.size() / sizeof(U);
  out.reserve(out.size() + count);
  std::array<U, kRun> room;
  U last = 0;
  for (std::size_t begin = 0; begin < count; begin += kRun) {
    const std::span<U> run(room.data(), std::min(kRun, count - begin));
    unshuffle(raw.data() + begin, count, run);
    if (coding == Coding::kDelta) {
      for (U& value : run) value = last = static_cast<U>(last + unzigzag(value));
    }
    const auto* values = reinterpret_cast<const T*>(run.data());  // two's complement, if signed
    out.insert(out.end(), values, values + run.size());
  }
}

template void put_integers(ByteVector&, std::span<const std::uint8_t>, Coding);
template void put_integers(ByteVector&, std::span<const std::uint32_t>, Coding);
template void put_integers(ByteVector&, std::span<const std::uint64_t>, Coding);
template void get_integers(Bytes, Coding, std::vector<std::uint8_t>&);
template void get_integers(Bytes, Coding, std::vector<std::uint32_t>&);
template void get_integers(Bytes, Coding, std::vector<std::uint64_t>&);
template void get_integers(Bytes, Coding, std::vector<std::int32_t>&);
template void get_integers(Bytes, Coding, std::vector<std::int64_t>&);

void put_texts(ByteVector& out, const TextColumn& texts) {
  std::vector<std::uint32_t> lengths(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    lengths[i] = static_cast<std::uint32_t>(texts[i].size());
  }
  put_integers<std::uint32_t>(out, lengths, Coding::kPlain);
  const Bytes bytes = as_bytes(texts.bytes());
  out.insert(out.end(), bytes.begin(), bytes.end());
}

Result<TextColumn> get_texts(Bytes raw, std::size_t count) {
  if (raw.size() / sizeof(std::uint32_t) < count) return wrong("too short for its lengths");
  std::vector<std::uint64_t> ends = ends_of(get_lengths(raw, count));
  const Bytes bytes = raw.subspan(count * sizeof(std::uint32_t));
  const std::uint64_t total = ends.empty() ? 0 : ends.back();
  if (total != bytes.size()) {
    return wrong(fmt::format("{} bytes of text, where its lengths say {}", bytes.size(), total));
  }
  return TextColumn(std::string(as_text(bytes)), std::move(ends));
}

void put_names(ByteVector& out, const TextColumn& names) {
  std::vector<std::uint32_t> rests(names.size());
  ByteVector text;
  text.reserve(names.bytes().size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t shared = i == 0 ? 0 : shared_length(names[i - 1], names[i]);
    const Bytes rest = as_bytes(names[i].substr(shared));
    out.push_back(static_cast<std::uint8_t>(shared));
    rests[i] = static_cast<std::uint32_t>(rest.size());
    text.insert(text.end(), rest.begin(), rest.end());
  }
  put_integers<std::uint32_t>(out, rests, Coding::kPlain);
  out.insert(out.end(), text.begin(), text.end());
}

Result<TextColumn> get_names(Bytes raw, std::size_t count, std::uint64_t room) {
  if (raw.size() / (1 + sizeof(std::uint32_t)) < count) return wrong("too short for its lengths");
  const std::vector<std::uint32_t> rests = get_lengths(raw.subspan(count), count);
  const Bytes text = raw.subspan(count * (1 + sizeof(std::uint32_t)));
  std::vector<std::uint64_t> ends(count);
  std::uint64_t end = 0;
  std::uint64_t rest_total = 0;
  std::uint64_t last_size = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (raw[i] > last_size) return wrong(fmt::format("[{}] shares more than there is", i));
    last_size = std::uint64_t{raw[i]} + rests[i];
    ends[i] = end += last_size;
    rest_total += rests[i];
  }
  if (rest_total != text.size()) {
    return wrong(fmt::format("{} bytes of text, where its lengths say {}", text.size(),
                             rest_total));
  }
  if (end > room) return fail(ErrorCode::kLimit, fmt::format("{} bytes of text", end));
  std::string bytes(end, '\0');
  const std::uint8_t* from = text.data();
  char* to = bytes.data();
  const char* last = to;
  for (std::size_t i = 0; i < count; ++i) {
    char* const begin = to;
    to = std::copy_n(last, raw[i], to);
    to = std::copy_n(from, rests[i], to);
    from += rests[i];
    last = begin;
  }
  return TextColumn(std::move(bytes), std::move(ends));
}

void put_handles(ByteVector& out, const TextColumn& handles, std::span<const std::uint64_t> ino) {
  std::string bytes(handles.bytes());
  const std::uint8_t at = find_ino(handles, ino);
  if (at != kNoIno) xor_ino(bytes, handles.ends(), ino, at);
  out.push_back(at);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    VFSMEND_CHECK(handles[i].size() <= kMaxHandleBytes);
    out.push_back(static_cast<std::uint8_t>(handles[i].size()));
    longest = std::max(longest, handles[i].size());
  }
  by_position(handles.ends(), longest, [&](std::uint64_t i) {
    out.push_back(static_cast<std::uint8_t>(bytes[i]));
  });
}

Result<TextColumn> get_handles(Bytes raw, std::span<const std::uint64_t> ino) {
  const std::size_t count = ino.size();
  if (raw.size() < 1 + count) return wrong("too short for its lengths");
  const Bytes lengths = raw.subspan(1, count);
  const std::size_t longest = count == 0 ? 0 : *std::max_element(lengths.begin(), lengths.end());
  if (longest > kMaxHandleBytes) return wrong(fmt::format("a handle of {} bytes", longest));
  std::vector<std::uint64_t> ends(count);
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < count; ++i) ends[i] = end += lengths[i];
  if (end != raw.size() - 1 - count) {
    return wrong(fmt::format("{} bytes of handles, where their lengths say {}",
                             raw.size() - 1 - count, end));
  }
  std::string bytes(end, '\0');
  const std::uint8_t* from = raw.data() + 1 + count;
  if (end == longest * count) {
    spread(from, count, longest, bytes.data());
  } else {
    by_position(ends, longest, [&](std::uint64_t i) { bytes[i] = static_cast<char>(*from++); });
  }
  if (raw[0] != kNoIno) xor_ino(bytes, ends, ino, raw[0]);
  return TextColumn(std::move(bytes), std::move(ends));
}

}  // namespace vfsmend::columns
