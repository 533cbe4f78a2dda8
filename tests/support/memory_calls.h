// SPDX-License-Identifier: Apache-2.0
// A host with one snapshot and nothing else, in memory: what thousands of damaged files are tried
// on, and what a fuzzer runs on.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <string>
#include <string_view>

#include "support/forwarding_calls.h"

namespace vfsmend::test {

class MemoryCalls final : public ForwardingCalls {
 public:
  // The path of the snapshot: a file, or a directory of files.
  static constexpr std::string_view kPath = "/snapshot";

  // The snapshot is a file.
  explicit MemoryCalls(std::string_view file) { objects_[std::string(kPath)] = {S_IFREG, file}; }
  // .. or a directory; "snapshot/state.json" is the file's name in it. The bytes are borrowed.
  explicit MemoryCalls(const std::map<std::string, std::string_view>& files) {
    objects_[std::string(kPath)] = {S_IFDIR, {}};
    for (const auto& [name, bytes] : files) {
      objects_[std::string(kPath) + "/" + name] = {S_IFREG, bytes};
    }
  }

  int openat2(int dir, const char* path, const open_how&) override {
    std::string_view name(path);
    if (name.starts_with(kSelf)) {
      const auto it = open_.find(number(name.substr(kSelf.size())));
      return it == open_.end() ? -ENOENT : hand_out(it->second);
    }
    const auto in = open_.find(dir);
    return hand_out(in == open_.end() ? std::string(name) : in->second + "/" + std::string(name));
  }

  int statx(int fd, const char*, int, unsigned, struct statx& out) override {
    const Object* object = find(fd);
    if (!object) return -EBADF;
    out = {};
    out.stx_mode = static_cast<std::uint16_t>(object->type | 0600);
    out.stx_size = object->bytes.size();
    return 0;
  }

  ssize_t pread(int fd, std::span<std::uint8_t> out, std::uint64_t offset) override {
    const Object* object = find(fd);
    if (!object) return -EBADF;
    if (offset >= object->bytes.size()) return 0;
    const std::string_view rest = object->bytes.substr(offset, out.size());
    std::copy(rest.begin(), rest.end(), out.begin());
    return static_cast<ssize_t>(rest.size());
  }

 private:
  static constexpr std::string_view kSelf = "/proc/self/fd/";

  struct Object {
    std::uint32_t type = 0;
    std::string_view bytes;
  };

  static int number(std::string_view digits) {
    int out = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return out;
  }

  // Descriptors are real, for their owner closes them.
  int hand_out(const std::string& path) {
    if (!objects_.contains(path)) return -ENOENT;
    const int fd = ::open("/", O_PATH | O_CLOEXEC);
    if (fd >= 0) open_[fd] = path;
    return fd < 0 ? -errno : fd;
  }

  [[nodiscard]] const Object* find(int fd) const {
    const auto it = open_.find(fd);
    return it == open_.end() ? nullptr : &objects_.at(it->second);
  }

  std::map<std::string, Object> objects_;  // by path
  std::map<int, std::string> open_;
};

}  // namespace vfsmend::test
