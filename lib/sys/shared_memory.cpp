// SPDX-License-Identifier: Apache-2.0
#include "sys/shared_memory.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace vfsmend::sys {

Result<SharedMemory> SharedMemory::make(std::size_t size) {
  UniqueFd fd(::memfd_create("vfsmend-guest-memory", MFD_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, "memfd_create");
  if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) return fail_errno(errno, "ftruncate");
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return fail_errno(errno, "mmap");
  return SharedMemory(std::move(fd), static_cast<std::uint8_t*>(data), size);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)), data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Result<UniqueFd> memory_file(const char* name, Bytes content) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, "memfd_create");
  off_t at = 0;
  while (!content.empty()) {
    const ssize_t written = ::pwrite(fd.get(), content.data(), content.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail_errno(errno, "write to memory");
    at += written;
    content = content.subspan(static_cast<std::size_t>(written));
  }
  return fd;
}

Result<std::string> read_memory_file(int fd, std::uint64_t limit) {
  struct stat stat {};
  if (::fstat(fd, &stat) != 0) return fail_errno(errno, "fstat");
  const auto size = static_cast<std::uint64_t>(stat.st_size);
  if (size > limit) {
    return fail(ErrorCode::kLimit, fmt::format("{} bytes, more than the limit of {}", size, limit));
  }
  std::string out(size, '\0');
  std::size_t have = 0;
  while (have < out.size()) {
    const ssize_t got = ::pread(fd, out.data() + have, out.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read from memory");
    if (got == 0) break;  // cut since
    have += static_cast<std::size_t>(got);
  }
  out.resize(have);
  return out;
}

Result<UniqueFd> event_fd() {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid()) return fail_errno(errno, "eventfd");
  return fd;
}

void signal_event(int fd) {
  const std::uint64_t one = 1;
  // Fails only where the counter is full, and then the other side has enough to wake it.
  [[maybe_unused]] const ssize_t ignored = ::write(fd, &one, sizeof one);
}

bool await_event(int fd, Deadline deadline) {
  pollfd wait{fd, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&wait, 1, deadline.poll_timeout());
  } while (ready < 0 && errno == EINTR);
  std::uint64_t count = 0;
  return ready > 0 && ::read(fd, &count, sizeof count) == sizeof count;
}

}  // namespace vfsmend::sys
