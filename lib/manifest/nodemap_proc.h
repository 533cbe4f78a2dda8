// SPDX-License-Identifier: Apache-2.0
// The texts of /proc/PID that a node map is made of: fdinfo and maps. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace vfsmend {

// The whole of `text`, without a sign.
[[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view text, int base);

struct DescriptorInfo {
  std::int32_t flags = -1;     // of open(2); -1 where it is not told
  std::int64_t mount_id = -1;  // the same
};

// "pos:\t0\nflags:\t0100002\nmnt_id:\t29\n": flags are octal.
[[nodiscard]] DescriptorInfo descriptor_info(std::string_view fdinfo);

// The mappings of files on one of `devices` ("0:42", decimal, as in mountinfo), by the names that
// they have in map_files; one range a file.
[[nodiscard]] std::vector<std::string> file_mappings(std::string_view maps,
                                                     const std::set<std::string>& devices);

// What follows `above` in `path`, without the slash: "" for `above` itself, nothing where `path`
// does not lie below it.
[[nodiscard]] std::optional<std::string_view> path_after(std::string_view path,
                                                         std::string_view above);

}  // namespace vfsmend
