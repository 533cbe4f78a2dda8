// SPDX-License-Identifier: Apache-2.0
// A small read-only FUSE file system in a thread of the test, which counts what it is asked.
// Nothing it answers may be kept by the kernel (all timeouts are 0), so whoever looks at a name or
// an attribute a second time is counted too. After refuse() each request ends with EIO.
//
// Node ids and inode numbers have both halves of their 64 bits in use, and differ.
#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace vfsmend::test {

class FuseServer {
 public:
  struct Node {
    std::uint64_t parent = 0;
    std::string name;
    bool directory = false;
    std::string content;
  };

  // Files by their numbers: number n has the node id node(n) and the inode number ino(n); 1 is the
  // root.
  FuseServer(std::string directory, std::map<std::uint64_t, Node> nodes)
      : directory_(std::move(directory)), nodes_(std::move(nodes)) {
    nodes_[1] = {0, "", true, ""};
    fd_ = ::open("/dev/fuse", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd_ < 0) return;
    const std::string options =
        "fd=" + std::to_string(fd_) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
    mounted_ = ::mount("a test", directory_.c_str(), "fuse", 0, options.c_str()) == 0;
    thread_ = std::thread([this] { serve(); });
  }
  FuseServer(const FuseServer&) = delete;
  FuseServer& operator=(const FuseServer&) = delete;
  ~FuseServer() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
    if (fd_ >= 0) ::close(fd_);  // ends the connection: whoever still waits gets an error
    if (mounted_) ::umount2(directory_.c_str(), MNT_DETACH);
  }

  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] int requests() const { return requests_; }
  void refuse() { refusing_ = true; }

  static std::uint64_t node(std::uint64_t number) {
    return number == 1 ? 1 : (number << 33) | number;
  }
  static std::uint64_t ino(std::uint64_t number) { return (number << 34) | (number + 100); }

 private:
  static std::uint64_t number_of(std::uint64_t node) { return node & 0xffffffff; }

  void serve() {
    std::vector<char> buffer(1 << 20);
    while (!stopping_) {
      pollfd waiting{fd_, POLLIN, 0};
      if (::poll(&waiting, 1, 10) <= 0) continue;
      const ssize_t n = ::read(fd_, buffer.data(), buffer.size());
      if (n < static_cast<ssize_t>(sizeof(fuse_in_header))) continue;
      fuse_in_header in{};
      std::memcpy(&in, buffer.data(), sizeof in);
      buffer[static_cast<std::size_t>(n)] = '\0';
      if (in.opcode != FUSE_INIT) ++requests_;
      if (in.opcode == FUSE_FORGET || in.opcode == FUSE_BATCH_FORGET) continue;
      answer(in, buffer.data() + sizeof in);
    }
  }

  void reply(const fuse_in_header& in, int error, std::string_view body) const {
    fuse_out_header out{static_cast<std::uint32_t>(sizeof(fuse_out_header) + body.size()), error,
                        in.unique};
    std::string bytes(reinterpret_cast<const char*>(&out), sizeof out);
    bytes += body;
    (void)!::write(fd_, bytes.data(), bytes.size());
  }
  template <typename T>
  void reply_with(const fuse_in_header& in, const T& body) const {
    reply(in, 0, {reinterpret_cast<const char*>(&body), sizeof body});
  }

  fuse_attr attr(std::uint64_t number) const {
    const Node& node = nodes_.at(number);
    fuse_attr out{};
    out.ino = ino(number);
    out.size = node.content.size();
    out.mode = node.directory ? S_IFDIR | 0755U : S_IFREG | 0755U;
    out.nlink = 1;
    out.blksize = 4096;
    return out;
  }

  void look_up(const fuse_in_header& in, const char* name) const {
    for (const auto& [number, node] : nodes_) {
      if (node.parent != number_of(in.nodeid) || node.name != name) continue;
      fuse_entry_out entry{};
      entry.nodeid = FuseServer::node(number);
      entry.attr = attr(number);
      return reply_with(in, entry);
    }
    reply(in, -ENOENT, "");
  }

  void answer(const fuse_in_header& in, const char* body) const {
    if (refusing_ && in.opcode != FUSE_INIT) return reply(in, -EIO, "");
    switch (in.opcode) {
      case FUSE_INIT: {
        fuse_init_out init{};
        init.major = FUSE_KERNEL_VERSION;
        init.minor = 31;
        init.max_readahead = 65536;
        init.max_write = 65536;
        return reply_with(in, init);
      }
      case FUSE_LOOKUP:
        return look_up(in, body);
      case FUSE_GETATTR: {
        fuse_attr_out out{};
        out.attr = attr(number_of(in.nodeid));
        return reply_with(in, out);
      }
      case FUSE_OPEN:
      case FUSE_OPENDIR:
        return reply_with(in, fuse_open_out{});
      case FUSE_READ: {
        fuse_read_in read{};
        std::memcpy(&read, body, sizeof read);
        const std::string_view all = nodes_.at(number_of(in.nodeid)).content;
        return reply(in, 0, all.substr(std::min<std::size_t>(read.offset, all.size()), read.size));
      }
      case FUSE_UNLINK:  // it stays; what counts is what the kernel makes of the answer
      case FUSE_RELEASE:
      case FUSE_RELEASEDIR:
      case FUSE_FLUSH:
        return reply(in, 0, "");
      default:
        return reply(in, -ENOSYS, "");
    }
  }

  std::string directory_;
  std::map<std::uint64_t, Node> nodes_;
  int fd_ = -1;
  bool mounted_ = false;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> refusing_{false};
  std::atomic<int> requests_{0};
  std::thread thread_;
};

}  // namespace vfsmend::test
