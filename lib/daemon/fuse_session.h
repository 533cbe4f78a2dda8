// SPDX-License-Identifier: Apache-2.0
// A guest's part of a virtio-fs session: memory, two queues, and FUSE requests. This is how states
// are made without a VM: what a guest has looked up and opened is what a state holds.
//
// FUSE: linux/fuse.h, protocol 7. Requests that the daemon refuses are errors of kind kSystem with
// its errno; kTimeout, kFormat and kLimit are the transport's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "daemon/vhost_user.h"
#include "daemon/virtqueue.h"
#include "state/fs_state.h"
#include "sys/shared_memory.h"

namespace vfsmend::daemon {

// What the guest asks for in FUSE_INIT; the daemon agrees to what it has switched on.
struct SessionWishes {
  bool writeback = true;
  bool announce_submounts = true;
  bool posix_acl = true;
};

struct Attributes {
  std::uint64_t ino = 0;  // st_ino on the host
  std::uint64_t size = 0;
  std::uint32_t mode = 0;
};

struct Looked {
  NodeId node = 0;
  Attributes attributes;
};

struct Created {
  Looked looked;
  HandleId handle = 0;
};

class FuseSession {
 public:
  // Sets up memory and rings (GET_FEATURES must have been asked: `features`) and sends FUSE_INIT.
  // Each answer has to come within `patience`. `wire` outlives the session.
  [[nodiscard]] static Result<FuseSession> start(VhostUser& wire, std::uint64_t features,
                                                 const SessionWishes& wishes,
                                                 std::chrono::milliseconds patience);

  [[nodiscard]] Result<Looked> lookup(NodeId parent, std::string_view name);
  [[nodiscard]] Result<void> forget(NodeId node, std::uint64_t lookups);
  [[nodiscard]] Result<HandleId> open(NodeId node, std::int32_t flags);
  [[nodiscard]] Result<HandleId> opendir(NodeId node);
  [[nodiscard]] Result<Created> create(NodeId parent, std::string_view name, std::int32_t flags,
                                       std::uint32_t mode);
  [[nodiscard]] Result<void> unlink(NodeId parent, std::string_view name);
  [[nodiscard]] Result<void> rename(NodeId parent, std::string_view name, NodeId new_parent,
                                    std::string_view new_name);
  // At most 64 KiB at a time.
  [[nodiscard]] Result<std::string> read(NodeId node, HandleId handle, std::uint64_t offset,
                                         std::uint32_t size);
  [[nodiscard]] Result<std::uint32_t> write(NodeId node, HandleId handle, std::uint64_t offset,
                                            std::string_view bytes);
  [[nodiscard]] Result<Attributes> getattr(NodeId node);
  [[nodiscard]] Result<void> setxattr(NodeId node, std::string_view name, std::string_view value);
  [[nodiscard]] Result<void> release(NodeId node, HandleId handle, bool directory);

  // Stops the rings: what has to be done before a state is saved.
  [[nodiscard]] Result<void> stop();

 private:
  FuseSession(VhostUser& wire, sys::SharedMemory memory, Virtqueue high_priority, Virtqueue requests,
              std::chrono::milliseconds patience)
      : wire_(wire), memory_(std::move(memory)), high_priority_(std::move(high_priority)),
        requests_(std::move(requests)), patience_(patience) {}

  [[nodiscard]] Result<void> set_up(std::uint64_t features);
  [[nodiscard]] Result<void> set_up_ring(std::uint32_t index, const Virtqueue& queue);
  [[nodiscard]] Result<void> init(const SessionWishes& wishes);
  // Body and answer are those behind the two headers.
  [[nodiscard]] Result<Bytes> request(std::uint32_t opcode, NodeId node, Bytes body,
                                      std::size_t capacity);
  [[nodiscard]] sys::Deadline answer_by() const { return sys::Deadline::in(patience_); }

  VhostUser& wire_;
  sys::SharedMemory memory_;
  Virtqueue high_priority_;
  Virtqueue requests_;
  std::chrono::milliseconds patience_;
  bool setxattr_ext_ = false;  // agreed on in FUSE_INIT
  std::uint64_t unique_ = 0;
  ByteVector message_;
};

}  // namespace vfsmend::daemon
