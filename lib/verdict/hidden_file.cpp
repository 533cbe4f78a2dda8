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

// As hash_text() writes it, and nothing behind it.
bool take_hash(std::string_view text, ContentHash& out) {
  constexpr std::size_t kHalf = 16;
  if (text.size() != 2 * kHalf) return false;
  for (const std::size_t half : {std::size_t{0}, std::size_t{1}}) {
    const char* const from = text.data() + half * kHalf;
    const auto [end, err] = std::from_chars(from, from + kHalf, out[1 - half], 16);
    if (err != std::errc() || end != from + kHalf) return false;
  }
  return true;
}

std::string hash_text(const ContentHash& hash) { return fmt::format("{:016x}{:016x}", hash[1], hash[0]); }

}  // namespace

std::string kept_fact(NodeId node, const ObjectFacts& facts, const ContentHash& hash) {
  return fmt::format("{} {} {} {} {} {} {} {}", node, facts.ino, facts.mode & kPermissions, facts.uid,
                     facts.gid, facts.mtime, facts.size, hash_text(hash));
}

std::string kept_path(const std::string& manifest, std::uint64_t number, const ContentHash& hash) {
  return fmt::format("{}.kept-{}-{:016x}", manifest, number, hash[1]);
}

std::string name_of_kept(const HiddenFile& file) { return file.file.substr(file.file.rfind('/') + 1); }

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
        !take(rest, out.mtime) || !take(rest, out.size) || !take_hash(rest, out.hash)) {
      return std::nullopt;
    }
    out.mode &= kPermissions;
    out.file = kept_path(manifest_path, number, out.hash);
    out.hidden_name = fmt::format(".vfsmend-kept-{}-{:.8}", node, fact(section.facts, "state-xxh3"));
    return out;
  }
  return std::nullopt;
}

}  // namespace vfsmend
