// SPDX-License-Identifier: Apache-2.0
// A Unix stream socket to another program: whole messages, descriptors beside them, and no wait
// that a deadline does not end. The other side is not trusted to send, to read, or to live on.
#pragma once

#include <span>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "sys/deadline.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {

// A listening socket for a program that will be started with it, and our end of the one connection
// that it will find waiting. Nobody else can come in: the name `path` is made, used and removed
// here. At most 107 bytes of path; its directory should be ours alone.
struct WaitingConnection {
  UniqueFd listener;  // inheritable only where the caller passes it on
  UniqueFd ours;      // non-blocking
};
[[nodiscard]] Result<WaitingConnection> waiting_connection(const std::string& path);

// Two ends of one connection; both non-blocking.
[[nodiscard]] Result<std::pair<UniqueFd, UniqueFd>> connected_pair();

// Sends all of `bytes`, `fds` with their first byte. kTimeout; kSystem (EPIPE: the other side has
// gone away).
[[nodiscard]] Result<void> send_all(int socket, Bytes bytes, std::span<const int> fds,
                                    Deadline deadline);

// Fills `out`; descriptors that come with it are closed, as nobody here asks for any. kTimeout;
// kSystem, with ECONNRESET where the other side has gone away before the last byte.
[[nodiscard]] Result<void> receive_all(int socket, std::span<std::uint8_t> out, Deadline deadline);

}  // namespace vfsmend::sys
