// SPDX-License-Identifier: Apache-2.0
// Memory that another program maps too, and the eventfds by which the two wake each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "sys/deadline.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {

// A memfd, mapped for reading and writing. Zeros at first.
class SharedMemory {
 public:
  [[nodiscard]] static Result<SharedMemory> make(std::size_t size);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::uint8_t* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  SharedMemory(UniqueFd fd, std::uint8_t* data, std::size_t size)
      : fd_(std::move(fd)), data_(data), size_(size) {}

  UniqueFd fd_;
  std::uint8_t* data_;
  std::size_t size_;
};

// A file without a name, in memory: what another program reads or writes while nobody has to be
// there at the other end, as with a pipe. Holds `content`, and is at its start.
[[nodiscard]] Result<UniqueFd> memory_file(const char* name, Bytes content = {});
// What is in it now; kLimit where that is more than `limit` bytes. Its offset stays.
[[nodiscard]] Result<std::string> read_memory_file(int fd, std::uint64_t limit);

[[nodiscard]] Result<UniqueFd> event_fd();
void signal_event(int fd);
// Takes all signals that came. False: none came in time.
[[nodiscard]] bool await_event(int fd, Deadline deadline);

}  // namespace vfsmend::sys
