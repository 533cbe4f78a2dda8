// SPDX-License-Identifier: Apache-2.0
#include "sys/stream_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace vfsmend::sys {
namespace {

constexpr std::size_t kMaxFds = 8;

// True: `events` (or an end) came. kTimeout where they did not.
Result<void> wait_for(int socket, short events, Deadline deadline) {
  for (;;) {
    pollfd poll_for{socket, events, 0};
    const int ready = ::poll(&poll_for, 1, deadline.poll_timeout());
    if (ready > 0) return {};
    if (ready == 0) return fail(ErrorCode::kTimeout, "no answer in time");
    if (errno != EINTR) return fail_errno(errno, "poll");
  }
}

// Descriptors in the ancillary data of `header`, closed.
void close_received(msghdr& header) {
  for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t bytes = at->cmsg_len - CMSG_LEN(0);
    for (std::size_t i = 0; i + sizeof(int) <= bytes; i += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(at) + i, sizeof fd);
      ::close(fd);
    }
  }
}

}  // namespace

Result<WaitingConnection> waiting_connection(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(ErrorCode::kSystem, fmt::format("{}: too long for a socket", path));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  WaitingConnection made{UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
                         UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
  if (!made.listener.valid() || !made.ours.valid()) return fail_errno(errno, "socket");
  if (::bind(made.listener.get(), generic, sizeof address) != 0) {
    return fail_errno(errno, "bind " + path);
  }
  const bool connected = ::listen(made.listener.get(), 1) == 0 &&
                         ::connect(made.ours.get(), generic, sizeof address) == 0;
  const int err = errno;
  ::unlink(path.c_str());
  if (!connected) return fail_errno(err, "connect " + path);
  return made;
}

Result<std::pair<UniqueFd, UniqueFd>> connected_pair() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data()) != 0) {
    return fail_errno(errno, "socketpair");
  }
  return std::pair(UniqueFd(fds[0]), UniqueFd(fds[1]));
}

Result<void> send_all(int socket, Bytes bytes, std::span<const int> fds, Deadline deadline) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxFds)> control{};
  bool with_fds = !fds.empty() && fds.size() <= kMaxFds;
  while (!bytes.empty()) {
    iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (with_fds) {
      header.msg_control = control.data();
      header.msg_controllen = CMSG_SPACE(fds.size_bytes());
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(fds.size_bytes());
      std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
    }
    const ssize_t sent = ::sendmsg(socket, &header, MSG_NOSIGNAL);
    if (sent > 0) {
      with_fds = false;
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (sent < 0 && errno == EAGAIN) {
      VFSMEND_TRY(wait_for(socket, POLLOUT, deadline));
    } else if (sent < 0 && errno != EINTR) {
      return fail_errno(errno, "send");
    }
  }
  return {};
}

Result<void> receive_all(int socket, std::span<std::uint8_t> out, Deadline deadline) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxFds)> control{};
  while (!out.empty()) {
    VFSMEND_TRY(wait_for(socket, POLLIN, deadline));
    iovec part{out.data(), out.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    if (got > 0) {
      close_received(header);
      out = out.subspan(static_cast<std::size_t>(got));
    } else if (got == 0) {
      return fail_errno(ECONNRESET, "the other side has closed the connection");
    } else if (errno != EINTR && errno != EAGAIN) {
      return fail_errno(errno, "receive");
    }
  }
  return {};
}

}  // namespace vfsmend::sys
