// SPDX-License-Identifier: Apache-2.0
#include "sys/xattrs.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace vfsmend::sys {
namespace {

constexpr std::size_t kLongest = 65536;  // XATTR_LIST_MAX and XATTR_SIZE_MAX

// Calls `ask` with a buffer until one is large enough: what is asked for may grow meanwhile.
template <typename Ask>
ssize_t read_growing(std::string& out, Ask ask) {
  std::array<char, 256> small;
  ssize_t n = ask(std::span<char>(small));
  if (n >= 0) {
    out.assign(small.data(), static_cast<std::size_t>(n));
    return n;
  }
  if (n != -ERANGE) return n;
  out.resize(kLongest);
  n = ask(std::span<char>(out));
  out.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return n;
}

}  // namespace

int read_xattrs(Calls& calls, int dir, const char* path, Xattrs& out) {
  // Most objects have none. To ask for the size alone tells that at half the price of a call with room for
  // names, for which the kernel fetches memory; where the object before had some, all are likely to.
  const bool likely = !out.empty();
  out.clear();
  if (!likely) {
    const ssize_t size = calls.listxattrat(dir, path, {});
    if (size == 0 || size == -EOPNOTSUPP) return 0;
    if (size < 0 && size != -ERANGE) return static_cast<int>(size);
  }
  std::string names;
  const ssize_t listed = read_growing(
      names, [&](std::span<char> buffer) { return calls.listxattrat(dir, path, buffer); });
  if (listed == -EOPNOTSUPP) return 0;
  if (listed < 0) return static_cast<int>(listed);
  for (std::size_t at = 0; at < names.size();) {
    std::string name(names.c_str() + at);
    at += name.size() + 1;
    std::string value;
    const ssize_t n = read_growing(value, [&](std::span<char> buffer) {
      return calls.getxattrat(dir, path, name.c_str(), buffer);
    });
    if (n == -ENODATA) continue;
    if (n < 0) return static_cast<int>(n);
    out.emplace_back(std::move(name), std::move(value));
  }
  std::ranges::sort(out);
  return 0;
}

}  // namespace vfsmend::sys
