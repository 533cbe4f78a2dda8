// SPDX-License-Identifier: Apache-2.0
#include "manifest/mtree.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <iterator>
#include <vector>

namespace vfsmend {
namespace {

constexpr std::string_view kMagic = "*?[";

// Bytes that would end a word, begin a comment or a keyword's value, or match as a pattern.
bool is_plain(char c) {
  constexpr std::string_view kSpecial = "\\#=*?[]";
  return c > ' ' && c <= '~' && kSpecial.find(c) == std::string_view::npos;
}

std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_plain(c)) out += c;
    else fmt::format_to(std::back_inserter(out), "\\{:03o}", static_cast<unsigned char>(c));
  }
  return out;
}

// mtree decodes a name first, and takes it for a pattern of fnmatch(3) then if it looks like one: `*`
// would stand for whatever lies beside it. A pattern that matches this name alone is written instead.
std::string encoded_name(std::string_view name) {
  if (name.find_first_of(kMagic) == std::string_view::npos) return encoded(name);
  std::string pattern;
  for (const char c : name) {
    if (c == '\\' || kMagic.find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return encoded(pattern);
}

std::string_view type_of(std::uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return "file";
    case S_IFDIR: return "dir";
    case S_IFLNK: return "link";
    case S_IFIFO: return "fifo";
    case S_IFSOCK: return "socket";
    case S_IFCHR: return "char";
    case S_IFBLK: return "block";
    default: return "";
  }
}

// Of the time before 1970 too: the fraction counts forward.
std::string time_text(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::int64_t seconds = ns / kSecond;
  std::int64_t rest = ns % kSecond;
  if (rest < 0) {
    rest += kSecond;
    --seconds;
  }
  return fmt::format("{}.{:09}", seconds, rest);
}

}  // namespace

std::string mtree_text(const ManifestSection& section) {
  const EntryTable& e = section.entries;
  std::vector<std::string> paths(e.size_of());
  std::string out = "#mtree\n";
  for (std::size_t i = 0; i < e.size_of(); ++i) {
    const bool is_share = i == 0;
    if (!is_share && e.parent[i] == kNoParent) continue;  // known by its handle only
    paths[i] = is_share ? "." : paths[e.parent[i]] + "/" + encoded_name(e.name[i]);
    if ((e.notes[i] & (kChangedMeanwhile | kVanished)) != 0) continue;
    const std::uint32_t mode = e.mode[i];
    fmt::format_to(std::back_inserter(out), "{} type={} mode={:04o} uid={} gid={} nlink={}", paths[i],
                   type_of(mode), mode & 07777, e.uid[i], e.gid[i], e.nlink[i]);
    if (S_ISREG(mode)) fmt::format_to(std::back_inserter(out), " size={}", e.size[i]);
    if (S_ISLNK(mode)) out += " link=" + encoded(e.target[i]);
    if (S_ISCHR(mode) || S_ISBLK(mode)) out += " device=" + std::to_string(e.rdev[i]);
    out += " time=" + time_text(e.mtime[i]) + "\n";
  }
  return out;
}

}  // namespace vfsmend
