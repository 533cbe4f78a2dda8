// SPDX-License-Identifier: Apache-2.0
#include "manifest/columns.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "manifest/shuffle.h"
#include "sys/heap.h"

namespace vfsmend::columns {
namespace {

template <typename U>
U zigzag(U difference) {
  const U sign = static_cast<U>(0) - static_cast<U>(difference >> (8 * sizeof(U) - 1));
  return static_cast<U>(static_cast<U>(difference << 1) ^ sign);
}

template <typename U>
U unzigzag(U z) {
  return static_cast<U>((z >> 1) ^ (static_cast<U>(0) - static_cast<U>(z & 1)));
}

bool all_same(const std::uint8_t* plane, std::size_t count) {
  return std::memcmp(plane, plane + 1, count - 1) == 0;
}

// Whether all values of the column are the first one. Each plane that is not asked is a wrong one,
// so that this costs little where they are not.
template <typename U>
bool is_constant(Bytes raw, std::size_t count, Coding coding) {
  for (std::size_t byte = 0; byte < sizeof(U); ++byte) {
    const std::uint8_t* plane = raw.data() + byte * count;
    if (coding == Coding::kPlain) {
      if (!all_same(plane, count)) return false;
    } else if (count > 1 && (plane[1] != 0 || !all_same(plane + 1, count - 1))) {
      return false;
    }
  }
  return true;
}

}  // namespace

template <typename T>
void set_integers(std::span<std::uint8_t> planes, const Column<T>& values, Coding coding) {
  using U = std::make_unsigned_t<T>;
  const std::size_t count = values.size();
  VFSMEND_CHECK(planes.size() == count * sizeof(U));
  std::array<U, kRun> room;
  U last = 0;
  for (std::size_t first = 0; first < count; first += kRun) {
    const std::span<U> run(room.data(), std::min(kRun, count - first));
    for (std::size_t i = 0; i < run.size(); ++i) {
      const auto value = static_cast<U>(values[first + i]);
      run[i] = coding == Coding::kDelta ? zigzag(static_cast<U>(value - last)) : value;
      last = value;
    }
    shuffle<U>(run, planes.data() + first, count);
  }
}

template <typename T>
void put_integers(ColumnBytes& out, const Column<T>& values, Coding coding) {
  const std::size_t begin = out.size();
  out.resize(begin + values.size() * sizeof(T));
  set_integers(std::span(out).subspan(begin), values, coding);
}

template <typename T>
Column<T> get_integers(Bytes raw, Coding coding) {
  using U = std::make_unsigned_t<T>;
  VFSMEND_CHECK(raw.size() % sizeof(U) == 0);
  const std::size_t count = raw.size() / sizeof(U);
  if (count == 0) return {};
  std::array<U, kRun> room{};
  if (is_constant<U>(raw, count, coding)) {
    (void)unshuffle(raw.data(), count, sizeof(U), std::span<U>(room).first(1));
    return Column<T>(count, static_cast<T>(coding == Coding::kDelta ? unzigzag(room[0]) : room[0]));
  }
  std::vector<T> out;
  out.reserve(count);
  sys::fetch_pages(out.data(), count * sizeof(T));
  U last = 0;
  for (std::size_t begin = 0; begin < count; begin += kRun) {
    const std::span<U> run(room.data(), std::min(kRun, count - begin));
    if (!unshuffle(raw.data() + begin, count, sizeof(U), run)) {  // each is the one before, or 0
      out.insert(out.end(), run.size(), static_cast<T>(last));
      continue;
    }
    if (coding == Coding::kDelta) {
      for (U& value : run) value = last = static_cast<U>(last + unzigzag(value));
    }
    const auto* values = reinterpret_cast<const T*>(run.data());  // two's complement, if signed
    out.insert(out.end(), values, values + run.size());
  }
  return Column<T>(std::move(out));
}

template <typename T>
void put_column(ColumnBytes& out, const Column<T>& values, Coding coding) {
  const std::span<const T> held = values.held();
  const bool same = std::all_of(held.begin(), held.end(),
                                [held](const T& value) { return value == held[0]; });
  if (same && !values.empty()) return put_integers(out, Column<T>(1, values[0]), coding);
  put_integers(out, values, coding);
}

template <typename T>
Column<T> get_column(Bytes raw, std::size_t count, Coding coding) {
  VFSMEND_CHECK(is_column_size<T>(raw.size(), count));
  Column<T> values = get_integers<T>(raw, coding);
  return values.size() == count ? std::move(values) : Column<T>(count, values.held()[0]);
}

template void put_integers(ColumnBytes&, const Column<std::uint8_t>&, Coding);
template Column<std::uint8_t> get_integers(Bytes, Coding);
template void put_integers(ColumnBytes&, const Column<std::uint32_t>&, Coding);
template void set_integers(std::span<std::uint8_t>, const Column<std::uint32_t>&, Coding);
template Column<std::uint32_t> get_integers(Bytes, Coding);
template void put_integers(ColumnBytes&, const Column<std::uint64_t>&, Coding);
template Column<std::uint64_t> get_integers(Bytes, Coding);
template void put_integers(ColumnBytes&, const Column<std::int32_t>&, Coding);
template Column<std::int32_t> get_integers(Bytes, Coding);
template void put_integers(ColumnBytes&, const Column<std::int64_t>&, Coding);
template Column<std::int64_t> get_integers(Bytes, Coding);
template void put_column(ColumnBytes&, const Column<std::uint8_t>&, Coding);
template Column<std::uint8_t> get_column(Bytes, std::size_t, Coding);
template void put_column(ColumnBytes&, const Column<std::uint32_t>&, Coding);
template Column<std::uint32_t> get_column(Bytes, std::size_t, Coding);
template void put_column(ColumnBytes&, const Column<std::uint64_t>&, Coding);
template Column<std::uint64_t> get_column(Bytes, std::size_t, Coding);
template void put_column(ColumnBytes&, const Column<std::int32_t>&, Coding);
template Column<std::int32_t> get_column(Bytes, std::size_t, Coding);
template void put_column(ColumnBytes&, const Column<std::int64_t>&, Coding);
template Column<std::int64_t> get_column(Bytes, std::size_t, Coding);

}  // namespace vfsmend::columns
