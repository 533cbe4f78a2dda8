// SPDX-License-Identifier: Apache-2.0
#include "host.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/check.h"
#include "sys/unique_fd.h"

namespace vfsmend::differential {
namespace {

void make_file(const std::string& path, unsigned mode, std::string_view content) {
  const sys::UniqueFd fd(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return;
  [[maybe_unused]] const ssize_t written = ::write(fd.get(), content.data(), content.size());
  ::fchmod(fd.get(), mode);
}

void make_socket(const std::string& path) {
  const sys::UniqueFd made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path.data(), path.size());
  static_cast<void>(::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

void set_immutable(const std::string& path, bool on) {
  struct stat stat {};
  if (::lstat(path.c_str(), &stat) != 0 || (!S_ISREG(stat.st_mode) && !S_ISDIR(stat.st_mode))) return;
  const sys::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  long flags = 0;
  if (!fd.valid() || ::ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) != 0) return;
  flags = on ? flags | FS_IMMUTABLE_FL : flags & ~static_cast<long>(FS_IMMUTABLE_FL);
  static_cast<void>(::ioctl(fd.get(), FS_IOC_SETFLAGS, &flags));
}

// A tree of ours, with what makes removing hard undone.
void remove_tree(const std::string& top) {
  std::error_code ignored;
  for (auto it = std::filesystem::recursive_directory_iterator(top, ignored);
       it != std::filesystem::recursive_directory_iterator(); it.increment(ignored)) {
    set_immutable(it->path().string(), false);
  }
  std::filesystem::remove_all(top, ignored);
}

}  // namespace

Host::Host(const std::vector<std::string>& bases, std::size_t filesystem, const std::string& name)
    : bases_(bases), directory_(bases[filesystem % bases.size()] + "/" + name),
      share_(directory_ + "/share"),
      outer_mounts_(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)) {
  VFSMEND_CHECK(::unshare(CLONE_NEWNS) == 0);
  ::mkdir(directory_.c_str(), 0755);
  ::mkdir(share_.c_str(), 0755);
}

Host::~Host() {
  VFSMEND_CHECK(::setns(outer_mounts_.get(), CLONE_NEWNS) == 0);
  remove_tree(directory_);
  for (const std::string& source : elsewhere_) remove_tree(source);
}

std::optional<Host::Place> Host::place(const std::string& path) const {
  const sys::UniqueFd share(::open(share_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash);
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const long fd = ::syscall(SYS_openat2, share.get(), directory.c_str(), &how, sizeof how);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (fd < 0 || name.empty() || name == "..") return std::nullopt;
  return Place{sys::UniqueFd(static_cast<int>(fd)), "/proc/self/fd/" + std::to_string(fd) + "/" + name};
}

void Host::bind(const Place& place, std::uint64_t filesystem) {
  const std::string& base = bases_[filesystem % bases_.size()];
  const std::string source = base + "/" + directory_.substr(directory_.rfind('/') + 1) + ".bind" +
                             std::to_string(elsewhere_.size());
  if (::mkdir(source.c_str(), 0755) != 0) return;
  elsewhere_.push_back(source);
  make_file(source + "/inside", 0644, "inside");
  ::mkdir(place.path.c_str(), 0755);
  const sys::UniqueFd on(::open(place.path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!on.valid()) return;
  const std::string target = "/proc/self/fd/" + std::to_string(on.get());
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) == 0) mounts_changed_ = true;
}

void Host::change_mount(const Step& step, const Place& place) {
  const sys::UniqueFd on(::open(place.path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!on.valid()) return;
  const std::string target = "/proc/self/fd/" + std::to_string(on.get());
  const int result = step.kind == Kind::kUnmount
                         ? ::umount2(target.c_str(), MNT_DETACH)
                         : ::mount(nullptr, target.c_str(), nullptr,
                                   MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr);
  if (result == 0) mounts_changed_ = true;
}

void Host::apply_to_both(const Step& step, const Place& place) {
  const auto other = this->place(step.b);
  if (!other) return;
  if (step.kind == Kind::kHardLink) {
    static_cast<void>(::link(other->path.c_str(), place.path.c_str()));
  } else {
    const unsigned how = step.kind == Kind::kExchange ? RENAME_EXCHANGE : 0;
    static_cast<void>(::renameat2(AT_FDCWD, place.path.c_str(), AT_FDCWD, other->path.c_str(), how));
    if (!elsewhere_.empty()) mounts_changed_ = true;  // a mount may have moved with its directory
  }
}

void Host::apply_to(const Step& step, const Place& place) {
  const std::string& path = place.path;
  switch (step.kind) {
    case Kind::kMkdir: ::mkdir(path.c_str(), 0755); break;
    case Kind::kFile: make_file(path, static_cast<unsigned>(step.n), "content of a file\n"); break;
    case Kind::kSymlink: static_cast<void>(::symlink(step.b.c_str(), path.c_str())); break;
    case Kind::kFifo: ::mkfifo(path.c_str(), 0644); break;
    case Kind::kSocket: make_socket(path); break;
    case Kind::kDevice: ::mknod(path.c_str(), S_IFCHR | 0666, makedev(1, 3)); break;
    case Kind::kBind: bind(place, step.n); break;
    case Kind::kUnmount:
    case Kind::kReadOnly: change_mount(step, place); break;
    case Kind::kRemove: {
      std::error_code ignored;  // a mount below it
      std::filesystem::remove_all(path, ignored);
      break;
    }
    case Kind::kReplace:
      make_file(directory_ + "/new", 0644, "another file\n");
      ::rename((directory_ + "/new").c_str(), path.c_str());
      ::unlink((directory_ + "/new").c_str());
      break;
    case Kind::kChmod: {
      struct stat stat {};
      const bool link = ::lstat(path.c_str(), &stat) != 0 || S_ISLNK(stat.st_mode);
      if (!link) ::chmod(path.c_str(), static_cast<mode_t>(step.n));
      break;
    }
    case Kind::kImmutable: set_immutable(path, step.n != 0); break;
    default: break;
  }
}

void Host::apply(const Step& step) {
  const auto at = place(step.a);
  if (!at) return;
  const bool both = step.kind == Kind::kHardLink || step.kind == Kind::kRename ||
                    step.kind == Kind::kExchange;
  if (both) apply_to_both(step, *at);
  else apply_to(step, *at);
}

}  // namespace vfsmend::differential
