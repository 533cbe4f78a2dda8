// SPDX-License-Identifier: Apache-2.0
#include "sys/listing.h"

#include <dirent.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace vfsmend::sys {

int for_each_name(Calls& calls, int fd, std::span<std::uint8_t> buffer,
                  const std::function<bool(const char* name, std::uint64_t ino)>& entry) {
  for (;;) {
    const ssize_t n = calls.getdents(fd, buffer);
    if (n == -EINTR) continue;
    if (n <= 0) return static_cast<int>(n);
    for (std::size_t at = 0; at < static_cast<std::size_t>(n);) {
      std::uint64_t ino = 0;
      std::uint16_t length = 0;
      std::memcpy(&ino, buffer.data() + at + offsetof(dirent64, d_ino), sizeof ino);
      std::memcpy(&length, buffer.data() + at + offsetof(dirent64, d_reclen), sizeof length);
      const auto* text =
          reinterpret_cast<const char*>(buffer.data() + at + offsetof(dirent64, d_name));
      at += length;
      const bool dots = text[0] == '.' && (text[1] == '\0' || (text[1] == '.' && text[2] == '\0'));
      if (!dots && !entry(text, ino)) return 1;
    }
  }
}

}  // namespace vfsmend::sys
