// SPDX-License-Identifier: Apache-2.0
#include "verdict/original.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <thread>

#include "manifest/tree_look.h"
#include "sys/fd_path.h"
#include "sys/listing.h"
#include "sys/object_handle.h"
#include "sys/walk.h"

namespace vfsmend {
namespace {

constexpr std::size_t kMostNames = 65'536;   // of one directory
constexpr std::size_t kMostBeside = 256;     // directories that are looked into beside the parent
constexpr std::size_t kMostAbove = 256;      // of moved directories one in the other: a record is hostile

std::string joined(const std::string& directory, std::string_view name) {
  return directory.empty() ? std::string(name) : directory + "/" + std::string(name);
}

int open_for_listing(sys::Calls& calls, int share, const std::string& directory) {
  return sys::open_below(calls, share, directory,
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_NONBLOCK | O_CLOEXEC);
}

}  // namespace

bool OriginalFinder::is_object(std::uint32_t position, int dir, const char* name) {
  struct statx stat{};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name == '\0' ? AT_EMPTY_PATH : 0);
  if (calls_.statx(dir, name, flags, kObjectMask, stat) < 0) return false;
  LazyHandle handle(calls_, dir, name, *name == '\0' ? AT_EMPTY_PATH : 0);
  return record_.is_same(position, stat, handle);
}

bool OriginalFinder::is_at(std::uint32_t position, const std::string& path) {
  const sys::UniqueFd fd(open_path(calls_, share_.fd.get(), path.empty() ? "." : path.c_str(),
                                   Leave::kNever, false));
  return fd.valid() && is_object(position, fd.get(), "");
}

OriginalFinder::ByHandle OriginalFinder::ask_file_system(std::uint32_t position, std::string& path) {
  const EntryTable& e = record_.section().entries;
  const std::string_view handle = e.handle[position];
  // Of another file system below the share: the share's own would answer for an object of its own.
  if (handle.empty() || e.device[position] != e.device[0]) return ByHandle::kUnplaced;
  const sys::KeepsWorkingDirectory here(calls_);
  const sys::UniqueFd fd(sys::open_by_object_handle(calls_, share_.fd.get(), e.handle_type[position],
                                                    as_bytes(handle)));
  // An overlay that opens nothing by handle calls all of them stale.
  const bool is_name = e.handle_type[position] == sys::kOverlayHandle;
  if (!fd.valid()) return fd.get() == -ESTALE && !is_name ? ByHandle::kGone : ByHandle::kUnplaced;
  struct statx stat{};
  if (calls_.statx(fd.get(), "", AT_EMPTY_PATH, kObjectMask, stat) < 0) return ByHandle::kUnplaced;
  if (stat.stx_nlink == 0) return ByHandle::kGone;
  const std::string real = sys::path_of_fd(calls_, fd.get()).value_or("");
  if (!is_below(real, share_.real_path)) return ByHandle::kUnplaced;
  path = real.substr(share_.real_path == "/" ? 0 : share_.real_path.size());
  path.erase(0, path.find_first_not_of('/'));
  return is_at(position, path) ? ByHandle::kPlaced : ByHandle::kUnplaced;
}

const OriginalFinder::Names& OriginalFinder::names_in(const std::string& directory) {
  const auto [at, is_new] = listed_.try_emplace(directory);
  Names& names = at->second;
  if (!is_new) return names;
  std::array<std::uint8_t, 32768> buffer;
  const sys::UniqueFd fd(open_for_listing(calls_, share_.fd.get(), directory));
  if (!fd.valid()) return names;
  std::size_t left = std::min(kMostNames, names_left_);
  const std::size_t before = left;
  const int end = sys::for_each_name(calls_, fd.get(), buffer, [&](const char* name, std::uint64_t ino) {
    if (left == 0) return false;
    --left;
    names.by_ino.emplace(ino, name);
    names.all.emplace_back(name);
    return true;
  });
  static_cast<void>(end);  // what could be read is what is searched
  names_left_ -= before - left;
  return names;
}

std::optional<std::string> OriginalFinder::find_in(std::uint32_t position,
                                                   const std::string& directory) {
  const auto [begin, end] =
      names_in(directory).by_ino.equal_range(record_.section().entries.ino[position]);
  for (auto at = begin; at != end; ++at) {
    std::string path = joined(directory, at->second);
    if (is_at(position, path)) return path;
  }
  return std::nullopt;
}

// Once, on all cores, by the numbers that directories have: where each recorded number stands now.
const OriginalFinder::Places& OriginalFinder::everywhere() {
  if (everywhere_) return *everywhere_;
  everywhere_.emplace();
  for (const std::uint64_t ino : record_.section().entries.ino) everywhere_->try_emplace(ino);
  std::mutex mutex;
  const unsigned helpers = std::max(1U, std::thread::hardware_concurrency()) - 1;
  sys::walk_names(calls_, share_.fd.get(), helpers,
                  [&](const std::string& path, std::span<const sys::WalkEntry> entries) {
                    for (const sys::WalkEntry& entry : entries) {
                      const auto place = everywhere_->find(entry.ino);
                      if (place == everywhere_->end()) continue;
                      const std::lock_guard lock(mutex);
                      place->second.push_back(joined(path, entry.name));
                    }
                    return true;
                  });
  for (auto& [ino, paths] : *everywhere_) std::ranges::sort(paths);  // the same answer every time
  return *everywhere_;
}

std::optional<std::string> OriginalFinder::find_anywhere(std::uint32_t position) {
  const auto place = everywhere().find(record_.section().entries.ino[position]);
  if (place == everywhere().end()) return std::nullopt;
  for (const std::string& path : place->second) {
    if (is_at(position, path)) return path;
  }
  return std::nullopt;
}

std::optional<std::string> OriginalFinder::search(std::uint32_t position,
                                                  const std::optional<std::string>& directory) {
  std::optional<std::string> found;
  if (directory) found = find_in(position, *directory);
  if (!found && directory && !directory->empty()) {
    const std::size_t slash = directory->rfind('/');
    const std::string above = slash == std::string::npos ? "" : directory->substr(0, slash);
    found = find_in(position, above);
    const std::vector<std::string>& beside = names_in(above).all;
    for (std::size_t i = 0; i < std::min(beside.size(), kMostBeside) && !found; ++i) {
      found = find_in(position, joined(above, beside[i]));
    }
  }
  if (!found && search_all_) found = find_anywhere(position);
  return found;
}

// Up to a directory whose place is known, and down again through those that have to be found first.
std::optional<std::string> OriginalFinder::find(std::uint32_t position) {
  const EntryTable& e = record_.section().entries;
  std::vector<std::uint32_t> way;
  std::optional<std::string> place;
  for (std::uint32_t at = position; way.size() < kMostAbove; at = e.parent[at]) {
    if (const auto known = found_.find(at); known != found_.end()) {
      place = known->second;
      break;
    }
    const std::uint32_t parent = e.parent[at];
    std::string path;
    const bool sought = parent != kNoParent && record_.is_known(at);
    const ByHandle answer = sought ? ask_file_system(at, path) : ByHandle::kGone;
    if (answer != ByHandle::kUnplaced) {
      if (answer == ByHandle::kPlaced) place = path;
      found_[at] = place;
      break;
    }
    way.push_back(at);
    path = path_of(e, parent);
    if (parent == 0 || is_at(parent, path)) {
      place = path;
      break;
    }
  }
  for (; !way.empty(); way.pop_back()) place = found_[way.back()] = search(way.back(), place);
  return place;
}

}  // namespace vfsmend
