// SPDX-License-Identifier: Apache-2.0
#include "daemon/vhost_user.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "sys/stream_socket.h"

namespace vfsmend::daemon {
namespace {

struct Header {
  Request request{};
  std::uint32_t flags = 0;
  std::uint32_t size = 0;
};
static_assert(sizeof(Header) == 12);

constexpr std::uint32_t kVersionMask = 3;
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kReply = 1U << 2;

Result<void> check_reply(const Header& reply, Request asked, std::size_t expected) {
  const auto wrong = [](std::string text) { return fail(ErrorCode::kFormat, std::move(text)); };
  if ((reply.flags & kVersionMask) != kVersion || (reply.flags & kReply) == 0) {
    return wrong(fmt::format("what came is no reply: flags {:#x}", reply.flags));
  }
  if (reply.request != asked) {
    return wrong(fmt::format("the reply is to request {}", static_cast<std::uint32_t>(reply.request)));
  }
  if (reply.size != expected) {
    return wrong(fmt::format("the reply has {} bytes, not {}", reply.size, expected));
  }
  return {};
}

}  // namespace

std::string_view name_of(Request request) {
  switch (request) {
    case Request::kGetFeatures: return "GET_FEATURES";
    case Request::kSetFeatures: return "SET_FEATURES";
    case Request::kSetOwner: return "SET_OWNER";
    case Request::kSetMemTable: return "SET_MEM_TABLE";
    case Request::kSetVringNum: return "SET_VRING_NUM";
    case Request::kSetVringAddr: return "SET_VRING_ADDR";
    case Request::kSetVringBase: return "SET_VRING_BASE";
    case Request::kGetVringBase: return "GET_VRING_BASE";
    case Request::kSetVringKick: return "SET_VRING_KICK";
    case Request::kSetVringCall: return "SET_VRING_CALL";
    case Request::kGetProtocolFeatures: return "GET_PROTOCOL_FEATURES";
    case Request::kSetProtocolFeatures: return "SET_PROTOCOL_FEATURES";
    case Request::kSetVringEnable: return "SET_VRING_ENABLE";
    case Request::kSetDeviceStateFd: return "SET_DEVICE_STATE_FD";
    case Request::kCheckDeviceState: return "CHECK_DEVICE_STATE";
  }
  return "?";
}

Result<void> VhostUser::tell(Request request, Bytes payload, std::span<const int> fds,
                             sys::Deadline answer_by) {
  const Header header{request, kVersion, static_cast<std::uint32_t>(payload.size())};
  ByteVector message(sizeof header + payload.size());
  std::memcpy(message.data(), &header, sizeof header);
  if (!payload.empty()) {
    std::memcpy(message.data() + sizeof header, payload.data(), payload.size());
  }
  auto sent = sys::send_all(socket_.get(), message, fds, answer_by);
  if (!sent) return tl::make_unexpected(std::move(sent.error()).context(name_of(request)));
  return {};
}

Result<void> VhostUser::ask(Request request, Bytes payload, std::span<const int> fds,
                            std::span<std::uint8_t> reply, sys::Deadline answer_by) {
  VFSMEND_TRY(tell(request, payload, fds, answer_by));
  std::array<std::uint8_t, sizeof(Header)> bytes{};
  auto received = sys::receive_all(socket_.get(), bytes, answer_by);
  if (received) {
    Header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    received = check_reply(header, request, reply.size());
  }
  if (received) received = sys::receive_all(socket_.get(), reply, answer_by);
  if (!received) return tl::make_unexpected(std::move(received.error()).context(name_of(request)));
  return {};
}

Result<std::uint64_t> VhostUser::ask_number(Request request, Bytes payload,
                                            std::span<const int> fds, sys::Deadline answer_by) {
  std::array<std::uint8_t, sizeof(std::uint64_t)> reply{};
  VFSMEND_TRY(ask(request, payload, fds, reply, answer_by));
  std::uint64_t number = 0;
  std::memcpy(&number, reply.data(), sizeof number);
  return number;
}

}  // namespace vfsmend::daemon
