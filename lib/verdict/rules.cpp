// SPDX-License-Identifier: Apache-2.0
#include "verdict/rules.h"

#include <fmt/format.h>

#include <array>
#include <numeric>

#include "verdict/open_rules.h"

namespace vfsmend {

Rules::Rules(const RuleInput& input, FindingCollector& out)
    : input_(input),
      in_(input.in),
      out_(out),
      claimed_(input.in.state.inodes.size()),
      handles_begin_(input.in.index.slot_count() + 1) {
  const auto slot_of = [&](const Handle& handle) { return in_.index.slot_of(handle.inode); };
  for (const Handle& handle : in_.state.handles) {
    if (const Slot slot = slot_of(handle); slot != kNoIndex) ++handles_begin_[slot + 1];
  }
  std::partial_sum(handles_begin_.begin(), handles_begin_.end(), handles_begin_.begin());
  handles_.resize(handles_begin_.back());
  std::vector<std::uint32_t> next(handles_begin_.begin(), handles_begin_.end() - 1);
  for (std::uint32_t i = 0; i < in_.state.handles.size(); ++i) {
    if (const Slot slot = slot_of(in_.state.handles[i]); slot != kNoIndex) {
      handles_[next[slot]++] = i;
    }
  }
}

bool Rules::claim(EntryIndex entry) {
  if (claimed_[entry]) return false;
  claimed_[entry] = true;
  return true;
}

Finding Rules::about(Code code, Verdict verdict, EntryIndex entry) const {
  Finding finding;
  finding.code = code;
  finding.verdict = verdict;
  finding.inode = inode(entry).id;
  finding.path = input_.texts.name_path(entry);
  finding.open = is_open(entry);
  return finding;
}

std::span<const std::uint32_t> Rules::handles_on(Slot slot) const {
  return std::span(handles_).subspan(handles_begin_[slot],
                                     handles_begin_[slot + 1] - handles_begin_[slot]);
}

std::vector<std::string> Rules::casualties(EntryIndex entry) const {
  std::vector<std::string> out;
  for (const std::uint32_t at : handles_on(in_.index.slot_of_entry(entry))) {
    const Handle& handle = in_.state.handles[at];
    out.push_back(fmt::format("handle {} ({}) on inode {}", handle.id, flags_text(handle.flags),
                              handle.inode));
  }
  return out;
}

std::vector<std::string> Rules::subtree_casualties(EntryIndex entry) const {
  constexpr std::size_t kEnough = 100;  // of one finding; the counts are whole elsewhere
  std::vector<std::string> out;
  std::vector<bool> seen(in_.index.slot_count());  // a damaged state may hold circles
  std::vector<EntryIndex> todo = {entry};
  while (!todo.empty()) {
    const EntryIndex e = todo.back();
    todo.pop_back();
    const Slot slot = in_.index.slot_of_entry(e);
    if (seen[slot]) continue;
    seen[slot] = true;
    for (std::string& lost : casualties(e)) out.push_back(std::move(lost));
    if (out.size() > kEnough) {
      out.resize(kEnough);
      out.emplace_back("and more");
      break;
    }
    const auto children = in_.index.children(slot);
    todo.insert(todo.end(), children.begin(), children.end());
  }
  return out;
}

std::string flags_text(std::int32_t flags) {
  static constexpr std::array<std::pair<std::int32_t, const char*>, 9> kNames{{
      {kOpenAppend, "O_APPEND"},
      {kOpenCreate, "O_CREAT"},
      {kOpenExclusive, "O_EXCL"},
      {kOpenTruncate, "O_TRUNC"},
      {kOpenDirect, "O_DIRECT"},
      {kOpenDirectory, "O_DIRECTORY"},
      {kOpenNoAtime, "O_NOATIME"},
      {kOpenPath, "O_PATH"},
      {kOpenTmpfile, "O_TMPFILE"},
  }};
  static constexpr std::array<const char*, 4> kAccess = {"O_RDONLY", "O_WRONLY", "O_RDWR",
                                                         "access mode 3"};
  std::string out = kAccess[static_cast<unsigned>(flags) & 3];
  for (const auto& [bit, name] : kNames) {
    if ((flags & bit) != 0) out += fmt::format("|{}", name);
  }
  return out;
}

}  // namespace vfsmend
