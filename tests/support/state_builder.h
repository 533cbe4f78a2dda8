// SPDX-License-Identifier: Apache-2.0
// States for tests, in a line an inode, and what a check makes of them on a real directory. Names
// are string literals or live as long as the State.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "state/codec.h"
#include "sys/calls.h"
#include "verdict/device_check.h"

namespace vfsmend::test {

inline Inode root(std::uint64_t refcount) { return {kRootId, refcount, RootNode{}, {}}; }
inline Inode at(NodeId id, NodeId parent, std::string_view name, std::uint64_t refcount = 1) {
  return {id, refcount, Path{parent, name, {}}, {}};
}
inline Inode lost(NodeId id, std::uint64_t refcount = 1) { return {id, refcount, Invalid{}, {}}; }
inline Inode full(NodeId id, std::string_view name) { return {id, 1, FullPath{name}, {}}; }
inline Inode by_handle(NodeId id, FileHandle handle) {
  return {id, 1, HandleLocation{handle}, {}};
}

inline State state_of(std::vector<Inode> inodes, std::vector<Handle> handles = {}) {
  State state;
  state.next_inode = 1000;
  state.next_handle = 1000;
  state.inodes = std::move(inodes);
  state.handles = std::move(handles);
  return state;
}

// virtiofsd without a sandbox: texts have whole paths.
inline Destination virtiofsd(OnError on_error = OnError::kAbort) {
  Destination to;
  to.on_error = on_error;
  to.sandbox = Sandbox::kNone;
  return to;
}

inline Destination cube(Profile profile) {
  Destination to;
  to.profile = profile;
  to.on_error = *fixed_on_error(profile);
  to.reader = Reader::kCube;
  to.sandbox = Sandbox::kNone;
  to.announce_submounts = false;
  return to;
}

inline DeviceReport check_bytes(ByteVector bytes, const std::string& share, Destination to,
                                sys::Calls& calls = sys::kernel()) {
  SnapshotDevice device;
  device.id = "raw";
  device.state = std::move(bytes);
  to.shared_dir = share;
  return check_device({calls, device, ContainerKind::kRaw, std::move(to)}, [](auto) {}).report;
}

inline DeviceReport check_state(const State& state, const std::string& share, Destination to,
                                sys::Calls& calls = sys::kernel()) {
  const Dialect dialect = to.is_cube() ? Dialect::kCubeV1 : Dialect::kV2;
  return check_bytes(encode(state, dialect), share, std::move(to), calls);
}

inline bool has_code(const DeviceReport& report, Code code) {
  for (const Finding& finding : report.findings) {
    if (finding.code == code) return true;
  }
  return false;
}

}  // namespace vfsmend::test
