// SPDX-License-Identifier: Apache-2.0
#include "sys/walk.h"

#include <dirent.h>
#include <linux/openat2.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "sys/task_pool.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {
namespace {

constexpr int kMostOpen = 300;               // well below the usual soft limit of 1,024
constexpr std::size_t kLongestStep = 3'000;  // bytes of a path in one call; PATH_MAX is 4,096
constexpr unsigned kMostHelpers = 31;        // while a cold disk is waited for
constexpr std::size_t kBuffer = std::size_t{64} << 10;
constexpr std::uint64_t kReading = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOATIME;

int open_step(Calls& calls, int dir, const char* path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  int fd = calls.openat2(dir, path, how);
  if (fd == -EPERM && (flags & O_NOATIME) != 0) {  // for the owner and CAP_FOWNER alone
    how.flags &= ~std::uint64_t{O_NOATIME};
    fd = calls.openat2(dir, path, how);
  }
  return fd;
}

class Walk {
 public:
  using Visit = std::function<bool(const std::string&, std::span<const WalkEntry>)>;
  Walk(Calls& calls, int root, const Visit& visit)
      : calls_(calls), root_(root), visit_(visit), pool_([](const void*) {}) {}

  std::uint64_t run(unsigned helpers) {
    add(nullptr, "", ".");
    pool_.run(helpers, helpers == 0 ? 0 : std::max(helpers, kMostHelpers));
    return unreadable_;
  }

 private:
  // A directory that is open for what is below it.
  struct Open {
    Open(UniqueFd descriptor, std::atomic<int>& open) : fd(std::move(descriptor)), count(open) {
      ++count;
    }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open() { --count; }
    UniqueFd fd;
    std::atomic<int>& count;
  };
  using SharedOpen = std::shared_ptr<const Open>;

  // Without `parent` it is opened by its path.
  void add(SharedOpen parent, std::string path, std::string name) {
    pool_.add({[this, parent = std::move(parent), path = std::move(path), name = std::move(name)] {
                 read(parent, path, name.c_str());
               },
               nullptr});
  }

  void read(const SharedOpen& parent, const std::string& path, const char* name) {
    if (stopped_) return;
    UniqueFd fd(parent ? open_step(calls_, parent->fd.get(), name, kReading)
                       : open_below(calls_, root_, path, kReading));
    if (!fd.valid()) {
      ++unreadable_;
      return;
    }
    const int number = fd.get();
    const SharedOpen here = std::make_shared<const Open>(std::move(fd), open_);
    const SharedOpen for_children = open_ > kMostOpen ? nullptr : here;
    thread_local std::vector<std::uint8_t> buffer(kBuffer);
    std::vector<WalkEntry> entries;
    for (ssize_t n = 0; (n = calls_.getdents(number, buffer)) != 0;) {
      if (n == -EINTR) continue;
      if (n < 0) {
        ++unreadable_;
        return;
      }
      unpack(std::span(buffer).first(static_cast<std::size_t>(n)), number, entries);
      if (!visit_(path, entries)) stopped_ = true;
      if (stopped_) return;
      for (const WalkEntry& entry : entries) {
        if (!entry.directory) continue;
        add(for_children, path.empty() ? entry.name : path + "/" + entry.name, entry.name);
      }
    }
  }

  void unpack(std::span<const std::uint8_t> packed, int dir, std::vector<WalkEntry>& out) {
    out.clear();
    for (std::size_t at = 0; at < packed.size();) {
      WalkEntry entry;
      std::uint16_t length = 0;
      std::memcpy(&entry.ino, packed.data() + at + offsetof(dirent64, d_ino), sizeof entry.ino);
      std::memcpy(&length, packed.data() + at + offsetof(dirent64, d_reclen), sizeof length);
      const std::uint8_t type = packed[at + offsetof(dirent64, d_type)];
      entry.name = reinterpret_cast<const char*>(packed.data() + at + offsetof(dirent64, d_name));
      at += length;
      const bool dots = entry.name[0] == '.' &&
                        (entry.name[1] == '\0' || (entry.name[1] == '.' && entry.name[2] == '\0'));
      if (dots) continue;
      entry.directory = type == DT_DIR || (type == DT_UNKNOWN && is_directory(dir, entry.name));
      out.push_back(entry);
    }
  }

  bool is_directory(int dir, const char* name) {
    struct statx stat{};
    return calls_.statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, stat) == 0 &&
           S_ISDIR(stat.stx_mode);
  }

  Calls& calls_;
  int root_;
  const Visit& visit_;
  std::atomic<int> open_{0};
  std::atomic<std::uint64_t> unreadable_{0};
  std::atomic<bool> stopped_{false};
  TaskPool pool_;
};

}  // namespace

std::uint64_t walk_names(
    Calls& calls, int root, unsigned helpers,
    const std::function<bool(const std::string& path, std::span<const WalkEntry> entries)>& visit) {
  return Walk(calls, root, visit).run(helpers);
}

int open_below(Calls& calls, int root, std::string_view path, std::uint64_t flags) {
  if (path.empty()) path = ".";
  UniqueFd from;
  for (;;) {
    const int dir = from.valid() ? from.get() : root;
    std::size_t end = path.size();
    if (end > kLongestStep) end = path.rfind('/', kLongestStep);
    if (end == std::string_view::npos || end == 0) return -ENAMETOOLONG;
    const bool last = end == path.size();
    const std::string step(path.substr(0, end));
    const int next = open_step(calls, dir, step.c_str(),
                               last ? flags : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0 || last) return next;
    from = UniqueFd(next);
    path.remove_prefix(end + 1);
  }
}

}  // namespace vfsmend::sys
