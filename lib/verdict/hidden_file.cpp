// SPDX-License-Identifier: Apache-2.0
#include "verdict/hidden_file.h"

#include <fmt/format.h>

#include <charconv>

#include "manifest/capture.h"

namespace vfsmend {
namespace {

constexpr std::uint32_t kPermissions = 0777;

// The next number of a list with blanks between them.
template <typename T>
bool take(std::string_view& text, T& out) {
  const auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (err != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text.front() != ' ') return false;
  text.remove_prefix(text.empty() ? 0 : 1);
  return true;
}

}  // namespace

std::string kept_fact(NodeId node, std::uint64_t number, std::uint32_t mode, std::uint32_t uid,
                      std::uint32_t gid, std::int64_t mtime) {
  return fmt::format("{} {} {} {} {} {}", node, number, mode & kPermissions, uid, gid, mtime);
}

std::optional<HiddenFile> hidden_file(const ManifestSection& section, const std::string& manifest_path,
                                  NodeId node) {
  for (const auto& [key, value] : section.facts) {
    if (key != "kept") continue;
    std::string_view rest(value);
    NodeId its_node = 0;
    std::uint64_t number = 0;
    HiddenFile out;
    if (!take(rest, its_node) || its_node != node || node == 0) continue;
    if (!take(rest, number) || !take(rest, out.mode) || !take(rest, out.uid) || !take(rest, out.gid) ||
        !take(rest, out.mtime)) {
      return std::nullopt;
    }
    out.mode &= kPermissions;
    out.file = fmt::format("{}.kept-{}", manifest_path, number);
    out.hidden_name = fmt::format(".vfsmend-kept-{}-{:.8}", node, fact(section.facts, "state-xxh3"));
    return out;
  }
  return std::nullopt;
}

}  // namespace vfsmend
