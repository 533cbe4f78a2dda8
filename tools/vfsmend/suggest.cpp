// SPDX-License-Identifier: Apache-2.0
#include "vfsmend/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace vfsmend {
namespace {

// Insertions, deletions, replacements and swaps of neighbours, row by row.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::vector<std::size_t> next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], before[j - 2] + 1);
      }
    }
    std::swap(before, row);
    std::swap(row, next);
  }
  return row[b.size()];
}

// A word in the other one, where what they share is more than a syllable.
bool contains(std::string_view a, std::string_view b) {
  return std::min(a.size(), b.size()) >= 4 && (a.ends_with(b) || a.starts_with(b) ||
                                               b.ends_with(a) || b.starts_with(a));
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> known,
                         std::string_view prefix) {
  constexpr std::size_t kLongest = 64;  // of a word that somebody typed
  if (word.size() > kLongest) return "";
  std::size_t best = std::numeric_limits<std::size_t>::max();
  std::string_view nearest;
  for (const std::string& candidate : known) {
    const std::size_t away = contains(word, candidate) ? 1 : distance(word, candidate);
    if (away < best) {
      best = away;
      nearest = candidate;
    }
  }
  const std::size_t allowed = std::max<std::size_t>(1, word.size() / 3);
  if (nearest.empty() || best > allowed) return "";
  return fmt::format("; did you mean \"{}{}\"?", prefix, nearest);
}

}  // namespace vfsmend
