// SPDX-License-Identifier: Apache-2.0
// The other end of a vhost-user connection, played by a function in a thread of its own: a back-end
// that does what no real one would.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/vhost_user.h"
#include "sys/stream_socket.h"

namespace vfsmend::daemon::test {

// Nothing that a test does takes as long; what would hang ends by it.
inline constexpr std::chrono::seconds kGenerous{10};
inline sys::Deadline soon() { return sys::Deadline::in(kGenerous); }
inline sys::Deadline short_time() { return sys::Deadline::in(std::chrono::milliseconds(50)); }

inline constexpr std::uint32_t kReplyFlags = 1 | 1U << 2;  // version 1, reply

template <typename T>
Bytes raw(const T& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof value};
}

struct Message {
  Request request{};  // 0: the front-end has gone away
  std::uint32_t flags = 0;
  ByteVector payload;
  std::vector<sys::UniqueFd> fds;

  // The `i`-th word of the payload.
  [[nodiscard]] std::uint32_t word(std::size_t i) const {
    std::uint32_t out = 0;
    if ((i + 1) * sizeof out <= payload.size()) {
      std::memcpy(&out, payload.data() + i * sizeof out, sizeof out);
    }
    return out;
  }
};

inline ByteVector message(Request request, std::uint32_t flags, std::uint32_t size, Bytes payload) {
  const std::array<std::uint32_t, 3> header{static_cast<std::uint32_t>(request), flags, size};
  ByteVector out(sizeof header + payload.size());
  std::memcpy(out.data(), header.data(), sizeof header);
  if (!payload.empty()) std::memcpy(out.data() + sizeof header, payload.data(), payload.size());
  return out;
}
inline ByteVector reply(Request request, Bytes payload) {
  return message(request, kReplyFlags, static_cast<std::uint32_t>(payload.size()), payload);
}
inline ByteVector reply(Request request, std::uint64_t number) { return reply(request, raw(number)); }

// What a peer can do with its end of the connection.
class PeerEnd {
 public:
  explicit PeerEnd(sys::UniqueFd socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int socket() const { return socket_.get(); }

  // False: the front-end may have gone away, which is its right.
  bool send(Bytes bytes, std::span<const int> fds = {}) const {
    return sys::send_all(socket_.get(), bytes, fds, soon()).has_value();
  }
  [[nodiscard]] Message receive() const {
    Message out;
    std::array<std::uint32_t, 3> header{};
    if (!fill(header.data(), sizeof header, out.fds)) return {};
    out.payload.resize(header[2]);
    if (!fill(out.payload.data(), out.payload.size(), out.fds)) return {};
    out.request = static_cast<Request>(header[0]);
    out.flags = header[1];
    return out;
  }
  // Until the front-end has let go of its end, reading nothing.
  void await_hangup() const {
    pollfd gone{socket_.get(), POLLRDHUP, 0};
    EXPECT_EQ(::poll(&gone, 1, 1000 * static_cast<int>(kGenerous.count())), 1) << "no end of it";
  }

 private:
  bool fill(void* out, std::size_t size, std::vector<sys::UniqueFd>& fds) const {
    auto* at = static_cast<std::uint8_t*>(out);
    while (size > 0) {
      pollfd readable{socket_.get(), POLLIN, 0};
      if (::poll(&readable, 1, soon().poll_timeout()) <= 0) return false;
      alignas(cmsghdr) std::array<char, CMSG_SPACE(8 * sizeof(int))> control{};
      iovec part{at, size};
      msghdr header{};
      header.msg_iov = &part;
      header.msg_iovlen = 1;
      header.msg_control = control.data();
      header.msg_controllen = control.size();
      const ssize_t got = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC);
      if (got <= 0) return false;
      keep(header, fds);
      at += got;
      size -= static_cast<std::size_t>(got);
    }
    return true;
  }
  static void keep(msghdr& header, std::vector<sys::UniqueFd>& fds) {
    for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
      for (std::size_t i = CMSG_LEN(0); i + sizeof(int) <= at->cmsg_len; i += sizeof(int)) {
        int fd = -1;
        std::memcpy(&fd, reinterpret_cast<const char*>(at) + i, sizeof fd);
        fds.emplace_back(fd);
      }
    }
  }

  sys::UniqueFd socket_;
};

// Runs `play`; the connection is closed when that is over. Outlives the VhostUser on `front()`.
class FakePeer {
 public:
  explicit FakePeer(std::function<void(PeerEnd&)> play) {
    auto pair = sys::connected_pair();
    EXPECT_TRUE(pair);
    front_ = std::move(pair->first);
    thread_ = std::thread([play = std::move(play), back = std::move(pair->second)]() mutable {
      PeerEnd end(std::move(back));
      play(end);
    });
  }
  FakePeer(const FakePeer&) = delete;
  FakePeer& operator=(const FakePeer&) = delete;
  ~FakePeer() { join(); }

  [[nodiscard]] VhostUser front() { return VhostUser(std::move(front_)); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  sys::UniqueFd front_;
  std::thread thread_;
};

}  // namespace vfsmend::daemon::test
