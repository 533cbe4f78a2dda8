// SPDX-License-Identifier: Apache-2.0
#include "manifest/directory.h"

#include <fcntl.h>
#include <linux/openat2.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/text.h"
#include "sys/listing.h"
#include "sys/short_lock.h"
#include "sys/walk.h"

namespace vfsmend {
namespace {

// Well below the usual soft limit of 1,024.
constexpr int kMostOpen = 300;
constexpr std::size_t kLongestPath = 3'000;  // bytes that are told

constexpr std::uint64_t kDirectory = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::uint64_t kSearching = kDirectory | O_PATH;
constexpr std::uint64_t kReading = kDirectory | O_RDONLY | O_NOATIME;

int open_component(sys::Calls& calls, int dir, const char* name, std::uint64_t flags) {
  open_how how{};
  how.flags = flags;
  if (*name != '/') how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  int fd = calls.openat2(dir, name, how);
  if (fd == -EPERM && (flags & O_NOATIME) != 0) {  // for the owner and CAP_FOWNER alone
    how.flags &= ~std::uint64_t{O_NOATIME};
    fd = calls.openat2(dir, name, how);
  }
  return fd;
}

}  // namespace

void NameList::clear() {
  text_.clear();
  ends_.clear();
}

void NameList::add(std::string_view name) {
  text_.append(name).push_back('\0');
  ends_.push_back(text_.size());
}

std::span<std::string_view> NameList::sorted() {
  sorted_.clear();
  std::size_t begin = 0;
  for (const std::size_t end : ends_) {
    sorted_.push_back(std::string_view(text_).substr(begin, end - begin - 1));
    begin = end;
  }
  std::ranges::sort(sorted_);
  // A listing that moved under our hands has names twice. (clang 14 has no ranges::unique.)
  sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
  return sorted_;
}

Uncommon& Directory::make_uncommon(std::size_t at) {
  std::vector<Uncommon>& of_piece = pieces[at / kPieceSize].uncommon;
  std::uint32_t& position = objects[at].uncommon;
  if (position == 0) {
    of_piece.emplace_back();
    position = static_cast<std::uint32_t>(of_piece.size());
  }
  return of_piece[position - 1];
}

void Directory::keep(std::size_t at, const Object& object, const Look& look, std::string& bytes) {
  if (look.end != LookEnd::kWhole) make_uncommon(at).look = look;
  if (!is_known(look.end)) return;
  SeenObject& out = objects[at];
  const ObjectFacts& facts = object.facts;
  out.size = facts.size;
  out.ino = facts.ino;
  out.device = facts.device;
  out.mtime = facts.mtime;
  out.ctime = facts.ctime;
  out.btime = facts.btime;
  out.mode = facts.mode;
  out.uid = facts.uid;
  out.gid = facts.gid;
  out.nlink = facts.nlink;
  out.bytes_at = static_cast<std::uint32_t>(bytes.size());
  out.handle_type = object.handle.size == 0 ? 0 : object.handle.type;
  out.handle_size = static_cast<std::uint8_t>(object.handle.size);
  out.target_size = static_cast<std::uint16_t>(object.target.size());
  bytes.append(as_text(object.handle.bytes())).append(object.target);
  if (facts.rdev != 0) make_uncommon(at).rdev = facts.rdev;
  if (!object.xattrs.empty()) make_uncommon(at).xattrs = object.xattrs;
  if (object.hash) {
    make_uncommon(at).hash = *object.hash;
    out.notes |= kHasHash;
  }
}

Directory& Directories::add(Directory* parent, std::uint32_t entry, std::uint32_t scope) {
  const auto lock = sys::lock_soon(mutex_);
  Directory& added = all_.emplace_back();
  added.parent = parent;
  added.number = static_cast<std::uint32_t>(all_.size() - 1);
  added.entry = entry;
  added.scope = scope;
  if (parent != nullptr) parent->objects[entry].below = added.number + 1;
  return added;
}

void Directories::set_names(Directory& directory, NameList& names) {
  const std::span<std::string_view> sorted = names.sorted();
  std::size_t size = 0;
  for (const std::string_view name : sorted) size += name.size() + 1;
  VFSMEND_CHECK(size <= std::numeric_limits<std::uint32_t>::max());
  const std::span<char> text = memory_.make<char>(size);
  directory.text = {text.data(), text.size()};
  set_objects(directory, sorted.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    std::memcpy(text.data() + at, sorted[i].data(), sorted[i].size() + 1);
    directory.objects[i].name_at = static_cast<std::uint32_t>(at);
    at += sorted[i].size() + 1;
  }
}

void Directories::set_nameless(Directory& directory, std::size_t count) {
  directory.text = "";  // each name begins, and ends, with its NUL
  set_objects(directory, count);
}

void Directories::set_objects(Directory& directory, std::size_t count) {
  directory.objects = memory_.make<SeenObject>(count);
  directory.pieces.resize(count / kPieceSize + 1);
}

int Directories::open(sys::Calls& calls, int share, Directory& directory, bool for_reading) {
  const std::uint64_t flags = for_reading ? kReading : kSearching;
  Directory& parent = *directory.parent;
  const std::string_view name = parent.name(directory.entry);
  int fd = 0;
  if (parent.parent == nullptr) fd = open_component(calls, share, ".", flags);
  else if (parent.crowded) fd = open_by_path(calls, share, directory, flags);
  else fd = open_component(calls, parent.fd.get(), name.data(), flags);
  if (fd < 0) return fd;
  directory.fd = sys::UniqueFd(fd);
  directory.crowded = open_.fetch_add(1) > kMostOpen;
  struct statx stat{};
  const int err = calls.statx(fd, "", AT_EMPTY_PATH, kObjectMask, stat);
  const ObjectFacts now = facts_of(stat);
  const SeenObject& seen = parent.objects[directory.entry];
  if (err == 0 && now.ino == seen.ino && now.device == seen.device) return 0;
  directory.fd.reset();
  open_.fetch_sub(1);
  return err < 0 ? err : -ENOENT;
}

int Directories::open_by_path(sys::Calls& calls, int share, const Directory& directory,
                              std::uint64_t flags) {
  std::vector<std::string> way;
  for (const Directory* at = &directory; at->parent->parent != nullptr; at = at->parent) {
    way.emplace_back(at->parent->name(at->entry));
  }
  sys::UniqueFd bind;
  if (!way.empty() && way.back().starts_with('/')) {
    const std::string name = std::move(way.back());
    way.pop_back();
    bind = sys::UniqueFd(open_component(calls, AT_FDCWD, name.c_str(), way.empty() ? flags : kSearching));
    if (way.empty() || !bind.valid()) return bind.release();
  }
  std::string path;
  for (; !way.empty(); way.pop_back()) path.append(path.empty() ? "" : "/").append(way.back());
  return sys::open_below(calls, bind.valid() ? bind.get() : share, path, flags);
}

void Directories::finish_one(Directory& directory) {
  if (directory.unfinished.fetch_sub(1) != 1 || !directory.fd.valid()) return;
  directory.fd.reset();
  open_.fetch_sub(1);
}

std::string Directories::path_of(const Directory& directory) {
  // From its end: each name is written once.
  std::array<char, kLongestPath> room;
  std::size_t begin = room.size();
  const auto put = [&](std::string_view text) {
    begin -= text.size();
    std::memcpy(room.data() + begin, text.data(), text.size());
  };
  const auto path = [&] { return std::string(room.data() + begin, room.size() - begin); };
  for (const Directory* at = &directory; at->parent != nullptr && at->parent->parent != nullptr;
       at = at->parent) {
    const std::string_view name = at->parent->name(at->entry);
    if (name.size() + 1 > begin) return "../" + path();
    if (begin < room.size()) put("/");
    put(name);
  }
  return path();
}

int read_names(sys::Calls& calls, int fd, NameList& out) {
  thread_local std::array<std::uint8_t, std::size_t{64} << 10> buffer;
  return sys::for_each_name(calls, fd, buffer, [&](const char* name, std::uint64_t) {
    out.add(name);
    return true;
  });
}

int read_unspeakable_names(sys::Calls& calls, int dir, std::size_t most, NameList& out) {
  std::array<std::uint8_t, 4096> buffer;
  const sys::UniqueFd fd(open_component(calls, dir, ".", kReading));
  if (!fd.valid()) return fd.get();
  std::size_t seen = 0;
  return sys::for_each_name(calls, fd.get(), buffer, [&](const char* name, std::uint64_t) {
    if (!is_utf8(name)) out.add(name);
    return ++seen < most;
  });
}

}  // namespace vfsmend
