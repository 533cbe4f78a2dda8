// SPDX-License-Identifier: Apache-2.0
#include "manifest/nodemap_proc.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace vfsmend {
namespace {

// The part of `rest` before `by`, which is taken off with it.
std::string_view next(std::string_view& rest, char by) {
  const std::size_t at = rest.find(by);
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return part;
}

// "08:1a" of maps, as mountinfo has it: "8:26".
std::string device_of(std::string_view hex) {
  const auto major = number_of(next(hex, ':'), 16);
  const auto minor = number_of(hex, 16);
  return major && minor ? fmt::format("{}:{}", *major, *minor) : "";
}

// maps fills addresses up with zeros; map_files does not know them so.
std::string_view without_zeros(std::string_view hex) {
  hex.remove_prefix(std::min(hex.find_first_not_of('0'), hex.size() - 1));
  return hex;
}

}  // namespace

std::optional<std::uint64_t> number_of(std::string_view text, int base) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [after, bad] = std::from_chars(text.data(), end, value, base);
  if (bad != std::errc() || after != end) return std::nullopt;
  return value;
}

DescriptorInfo descriptor_info(std::string_view fdinfo) {
  DescriptorInfo out;
  while (!fdinfo.empty()) {
    std::string_view line = next(fdinfo, '\n');
    const std::string_view key = next(line, '\t');
    const auto value = number_of(line, key == "flags:" ? 8 : 10);
    if (key == "flags:" && value) out.flags = static_cast<std::int32_t>(*value);
    if (key == "mnt_id:" && value) out.mount_id = static_cast<std::int64_t>(*value);
  }
  return out;
}

// "7f0000000000-7f0000021000 r--p 00000000 00:2a 7340      /share/lib.so"
std::vector<std::string> file_mappings(std::string_view maps,
                                       const std::set<std::string>& devices) {
  std::vector<std::string> ranges;
  std::set<std::string> files;
  while (!maps.empty()) {
    std::string_view line = next(maps, '\n');
    std::string_view range = next(line, ' ');
    (void)next(line, ' ');
    (void)next(line, ' ');
    const std::string_view device = next(line, ' ');
    if (range.empty() || !devices.contains(device_of(device))) continue;
    if (!files.insert(fmt::format("{} {}", device, line)).second) continue;
    const std::string_view begin = next(range, '-');
    if (begin.empty() || range.empty()) continue;
    ranges.push_back(fmt::format("{}-{}", without_zeros(begin), without_zeros(range)));
  }
  return ranges;
}

std::optional<std::string_view> path_after(std::string_view path, std::string_view above) {
  if (above == "/") above = "";
  if (!path.starts_with(above)) return std::nullopt;
  path.remove_prefix(above.size());
  if (path.empty()) return path;
  if (path[0] != '/') return std::nullopt;
  return path.substr(1);
}

}  // namespace vfsmend
