// SPDX-License-Identifier: Apache-2.0
// The vhost-user protocol as a front-end (a VMM) speaks it to its back-end: messages over one Unix
// socket, in host byte order.
//
//   message = request:u32 flags:u32 size:u32 payload     flags: version 1 in bits 0-1, 2 reply,
//                                                         3 need-reply
//
// The protocol: QEMU's docs/interop/vhost-user.rst. Back-ends of the vhost crate (virtiofsd) end
// themselves after a malformed message.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "sys/deadline.h"
#include "sys/unique_fd.h"

namespace vfsmend::daemon {

enum class Request : std::uint32_t {
  kGetFeatures = 1,
  kSetFeatures = 2,
  kSetOwner = 3,
  kSetMemTable = 5,
  kSetVringNum = 8,
  kSetVringAddr = 9,
  kSetVringBase = 10,
  kGetVringBase = 11,
  kSetVringKick = 12,
  kSetVringCall = 13,
  kGetProtocolFeatures = 15,
  kSetProtocolFeatures = 16,
  kSetVringEnable = 18,
  kSetDeviceStateFd = 42,
  kCheckDeviceState = 43,
};

[[nodiscard]] std::string_view name_of(Request request);

// The connection. Each call is over by `answer_by` at the latest: kTimeout where the back-end did
// not answer, kSystem (ECONNRESET, EPIPE) where it has gone away, kFormat where what it sent is no
// reply to what was asked. After an error nothing more can be asked.
class VhostUser {
 public:
  explicit VhostUser(sys::UniqueFd socket) : socket_(std::move(socket)) {}

  // A message without a reply.
  [[nodiscard]] Result<void> tell(Request request, Bytes payload, std::span<const int> fds,
                                  sys::Deadline answer_by);
  // A message whose reply carries `reply.size()` bytes.
  [[nodiscard]] Result<void> ask(Request request, Bytes payload, std::span<const int> fds,
                                 std::span<std::uint8_t> reply, sys::Deadline answer_by);
  // A message whose reply is one number.
  [[nodiscard]] Result<std::uint64_t> ask_number(Request request, Bytes payload,
                                                 std::span<const int> fds, sys::Deadline answer_by);

 private:
  sys::UniqueFd socket_;
};

}  // namespace vfsmend::daemon
