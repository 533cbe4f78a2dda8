// SPDX-License-Identifier: Apache-2.0
#include "daemon/migrate.h"

#include <array>
#include <cstring>

#include "sys/shared_memory.h"

namespace vfsmend::daemon {
namespace {

enum class Direction : std::uint32_t { kSave = 0, kLoad = 1 };
constexpr std::uint32_t kPhaseStopped = 0;
constexpr std::uint64_t kErrorMask = 0xff;  // of the reply; bit 8 above it: no descriptor came back
constexpr std::uint64_t kMaxState = std::uint64_t{1} << 30;

Result<void> hand_over(VhostUser& wire, Direction direction, int fd, sys::Deadline answer_by) {
  const std::array<std::uint32_t, 2> words{static_cast<std::uint32_t>(direction), kPhaseStopped};
  std::array<std::uint8_t, sizeof words> payload{};
  std::memcpy(payload.data(), words.data(), sizeof words);
  VFSMEND_TRY_ASSIGN(const std::uint64_t answer,
                     wire.ask_number(Request::kSetDeviceStateFd, payload, std::span(&fd, 1), answer_by));
  if ((answer & kErrorMask) != 0) {
    return fail(ErrorCode::kUnsupported, "SET_DEVICE_STATE_FD: the back-end takes no device state");
  }
  return {};
}

}  // namespace

Result<std::uint64_t> greet(VhostUser& wire, sys::Deadline answer_by) {
  VFSMEND_TRY_ASSIGN(const std::uint64_t features,
                     wire.ask_number(Request::kGetFeatures, {}, {}, answer_by));
  VFSMEND_TRY(wire.ask_number(Request::kGetProtocolFeatures, {}, {}, answer_by));
  return features;
}

Result<LoadAnswer> load_state(VhostUser& wire, Bytes state, sys::Deadline answer_by) {
  VFSMEND_TRY_ASSIGN(auto file, sys::memory_file("vfsmend-state", state));
  const auto begin = std::chrono::steady_clock::now();
  VFSMEND_TRY(hand_over(wire, Direction::kLoad, file.get(), answer_by));
  VFSMEND_TRY_ASSIGN(const std::uint64_t failed,
                     wire.ask_number(Request::kCheckDeviceState, {}, {}, answer_by));
  const auto took = std::chrono::steady_clock::now() - begin;
  return LoadAnswer{failed == 0, std::chrono::duration_cast<std::chrono::microseconds>(took)};
}

Result<ByteVector> save_state(VhostUser& wire, sys::Deadline answer_by) {
  VFSMEND_TRY_ASSIGN(auto file, sys::memory_file("vfsmend-state"));
  VFSMEND_TRY(hand_over(wire, Direction::kSave, file.get(), answer_by));
  VFSMEND_TRY_ASSIGN(const std::uint64_t failed,
                     wire.ask_number(Request::kCheckDeviceState, {}, {}, answer_by));
  if (failed != 0) {
    return fail(ErrorCode::kSystem, "CHECK_DEVICE_STATE: the back-end failed to save its state");
  }
  VFSMEND_TRY_ASSIGN(const std::string bytes, sys::read_memory_file(file.get(), kMaxState));
  return ByteVector(bytes.begin(), bytes.end());
}

}  // namespace vfsmend::daemon
