// SPDX-License-Identifier: Apache-2.0
#include "manifest/unlinked.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <map>

#include "sys/fd_path.h"
#include "sys/listing.h"

namespace vfsmend {
namespace {

constexpr std::int32_t kPathOnly = 010000000;  // O_PATH, as fdinfo prints it

// "flags:\t0100002": octal, of a descriptor of another process.
std::int32_t flags_of(sys::Calls& calls, int process, const char* number) {
  const auto text = sys::read_proc_file(calls, fmt::format("fdinfo/{}", number).c_str(), process);
  std::int32_t flags = kPathOnly;
  if (!text) return flags;
  constexpr std::string_view kKey = "flags:\t";
  const std::size_t at = text->find(kKey);
  if (at == std::string::npos) return flags;
  const char* const digits = text->data() + at + kKey.size();
  std::from_chars(digits, text->data() + text->size(), flags, 8);
  return flags;
}

using Modes = std::vector<std::int32_t>;

}  // namespace

Result<sys::UniqueFd> open_process(sys::Calls& calls, pid_t pid) {
  const std::string directory = fmt::format("/proc/{}", pid);
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  sys::UniqueFd fd(calls.openat2(AT_FDCWD, directory.c_str(), how));
  if (!fd.valid()) return fail_errno(-fd.get(), directory);
  return fd;
}

Result<sys::UniqueFd> open_unlinked(sys::Calls& calls, int process, const UnlinkedFile& file) {
  open_how how{};
  how.flags = O_RDONLY | O_NOATIME | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  sys::UniqueFd fd(calls.openat2(process, file.link.c_str(), how));
  if (fd.get() == -EPERM) {  // O_NOATIME is for the owner and for CAP_FOWNER
    how.flags &= ~std::uint64_t{O_NOATIME};
    fd = sys::UniqueFd(calls.openat2(process, file.link.c_str(), how));
  }
  if (!fd.valid()) return fail_errno(-fd.get(), "cannot be opened");
  struct statx stat{};
  const int err = calls.statx(fd.get(), "", AT_EMPTY_PATH, kObjectMask, stat);
  if (err < 0) return fail_errno(-err, "cannot be looked at");
  const ObjectFacts now = facts_of(stat);
  if (now.ino == file.facts.ino && now.device == file.facts.device) return fd;
  return fail(ErrorCode::kSystem, "is another file now");
}

Result<std::vector<UnlinkedFile>> find_unlinked(sys::Calls& calls, int process,
                                                std::span<const std::uint64_t> devices) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  const sys::UniqueFd fd(calls.openat2(process, "fd", how));
  if (!fd.valid()) return fail_errno(-fd.get(), "the descriptors of the daemon");
  std::map<std::pair<std::uint64_t, std::uint64_t>, UnlinkedFile> found;
  std::array<std::uint8_t, 32768> buffer;
  const int end = sys::for_each_name(calls, fd.get(), buffer, [&](const char* name, std::uint64_t) {
    struct statx stat{};
    if (calls.statx(fd.get(), name, 0, kObjectMask, stat) < 0) return true;
    const ObjectFacts facts = facts_of(stat);
    if (!S_ISREG(facts.mode) || facts.nlink != 0) return true;
    if (std::ranges::find(devices, facts.device) == devices.end()) return true;
    UnlinkedFile& file = found[{facts.device, facts.ino}];
    file.facts = facts;
    if (file.link.empty()) file.link = fmt::format("fd/{}", name);
    const std::int32_t flags = flags_of(calls, process, name);
    if ((flags & kPathOnly) == 0) file.modes.push_back(flags & O_ACCMODE);
    return true;
  });
  if (end < 0) return fail_errno(-end, "the descriptors of the daemon");
  std::vector<UnlinkedFile> out;
  for (auto& [key, file] : found) {
    std::ranges::sort(file.modes);
    out.push_back(std::move(file));
  }
  std::ranges::sort(out, {}, [](const UnlinkedFile& f) { return f.facts.ino; });
  return out;
}

void find_nodes(std::vector<UnlinkedFile>& files, const State& state, const NodeIndex& index) {
  std::map<NodeId, Modes> lost;
  for (const Handle& handle : state.handles) {
    const EntryIndex e = index.first_entry(handle.inode);
    if (e == kNoIndex || !location_as<Invalid>(state.inodes[e])) continue;
    lost[handle.inode].push_back(handle.flags & O_ACCMODE);
  }
  std::map<Modes, std::vector<NodeId>> inodes;
  std::map<Modes, std::vector<UnlinkedFile*>> candidates;
  for (auto& [node, modes] : lost) {
    std::ranges::sort(modes);
    inodes[modes].push_back(node);
  }
  for (UnlinkedFile& file : files) {
    if (!file.modes.empty()) candidates[file.modes].push_back(&file);
  }
  for (auto& [modes, nodes] : inodes) {
    const auto same = candidates.find(modes);
    if (nodes.size() != 1 || same == candidates.end() || same->second.size() != 1) continue;
    same->second.front()->node = nodes.front();
  }
}

std::uint64_t count_locks(sys::Calls& calls, pid_t pid) {
  const auto text = sys::read_proc_file(calls, "/proc/locks");
  if (!text) return 0;
  const std::string holder = fmt::format(" {} ", pid);
  std::uint64_t count = 0;
  std::string_view rest = *text;
  // "1: POSIX  ADVISORY  WRITE 1234 fd:00:2531452 0 EOF"; "->" marks one that waits.
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    count += line.find(holder) != std::string_view::npos && line.find("->") == std::string_view::npos;
  }
  return count;
}

}  // namespace vfsmend
