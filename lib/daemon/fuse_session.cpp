// SPDX-License-Identifier: Apache-2.0
#include "daemon/fuse_session.h"

#include <fmt/format.h>
#include <linux/fuse.h>
#include <linux/virtio_config.h>

#include <array>
#include <cstring>

namespace vfsmend::daemon {
namespace {

// Of the vhost-user protocol itself; not in a header of the kernel's.
constexpr std::uint64_t kProtocolFeaturesBit = std::uint64_t{1} << 30;
constexpr std::uint64_t kDeviceStateBit = std::uint64_t{1} << 19;

constexpr std::uint64_t kRootUid = 0;
constexpr std::int32_t kLargestErrno = 4095;  // MAX_ERRNO of the kernel's

struct MemoryTable {
  std::uint32_t regions = 1;
  std::uint32_t padding = 0;
  std::uint64_t guest_address = 0;
  std::uint64_t size = 0;
  std::uint64_t user_address = 0;
  std::uint64_t offset = 0;
};

struct RingState {
  std::uint32_t index = 0;
  std::uint32_t number = 0;
};

struct RingAddresses {
  std::uint32_t index = 0;
  std::uint32_t flags = 0;
  std::uint64_t descriptors = 0;
  std::uint64_t used = 0;
  std::uint64_t available = 0;
  std::uint64_t log = 0;
};

template <typename T>
Bytes raw(const T& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof value};
}

// A body of a request, put together from structs and names.
class Body {
 public:
  template <typename T>
  Body& add(const T& value) {
    const Bytes bytes = raw(value);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Body& text(std::string_view text) {  // with its NUL
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    bytes_.push_back(0);
    return *this;
  }
  Body& bytes(std::string_view text) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return *this;
  }
  [[nodiscard]] Bytes get() const { return bytes_; }

 private:
  ByteVector bytes_;
};

template <typename T>
Result<T> answer_as(Result<Bytes> answer) {
  if (!answer) return tl::make_unexpected(std::move(answer).error());
  T out{};
  if (answer->size() < sizeof out) {
    return fail(ErrorCode::kFormat, fmt::format("an answer of {} bytes where {} were due",
                                                answer->size(), sizeof out));
  }
  std::memcpy(&out, answer->data(), sizeof out);
  return out;
}

Attributes attributes_of(const fuse_attr& attr) { return {attr.ino, attr.size, attr.mode}; }

Result<void> done(Result<Bytes> answer) {
  if (!answer) return tl::make_unexpected(std::move(answer).error());
  return {};
}

}  // namespace

Result<FuseSession> FuseSession::start(VhostUser& wire, std::uint64_t features,
                                       const SessionWishes& wishes,
                                       std::chrono::milliseconds patience) {
  VFSMEND_TRY_ASSIGN(auto memory, sys::SharedMemory::make(2 * Virtqueue::kMemory));
  VFSMEND_TRY_ASSIGN(auto high_priority, Virtqueue::make(memory, 0));
  VFSMEND_TRY_ASSIGN(auto requests, Virtqueue::make(memory, Virtqueue::kMemory));
  FuseSession session(wire, std::move(memory), std::move(high_priority), std::move(requests),
                      patience);
  VFSMEND_TRY(session.set_up(features));
  VFSMEND_TRY(session.init(wishes));
  return session;
}

Result<void> FuseSession::set_up(std::uint64_t features) {
  const std::uint64_t wanted = (std::uint64_t{1} << VIRTIO_F_VERSION_1) | kProtocolFeaturesBit;
  VFSMEND_TRY(wire_.tell(Request::kSetProtocolFeatures, raw(kDeviceStateBit), {}, answer_by()));
  VFSMEND_TRY(wire_.tell(Request::kSetOwner, {}, {}, answer_by()));
  VFSMEND_TRY(wire_.tell(Request::kSetFeatures, raw(features & wanted), {}, answer_by()));
  MemoryTable table;
  table.size = memory_.size();
  table.user_address = reinterpret_cast<std::uintptr_t>(memory_.data());
  const int fd = memory_.fd();
  VFSMEND_TRY(wire_.tell(Request::kSetMemTable, raw(table), std::span(&fd, 1), answer_by()));
  VFSMEND_TRY(set_up_ring(0, high_priority_));
  VFSMEND_TRY(set_up_ring(1, requests_));
  // None of these has a reply. A kick that comes before its ring is enabled is taken and forgotten,
  // so wait for an answer to what stands behind them.
  VFSMEND_TRY(wire_.ask_number(Request::kGetFeatures, {}, {}, answer_by()));
  return {};
}

Result<void> FuseSession::set_up_ring(std::uint32_t index, const Virtqueue& queue) {
  const auto state = [&](Request what, std::uint32_t number) {
    return wire_.tell(what, raw(RingState{index, number}), {}, answer_by());
  };
  const auto event = [&](Request what, int fd) {
    return wire_.tell(what, raw(std::uint64_t{index}), std::span(&fd, 1), answer_by());
  };
  VFSMEND_TRY(state(Request::kSetVringNum, Virtqueue::kSize));
  VFSMEND_TRY(state(Request::kSetVringBase, 0));
  const RingAddresses addresses{index, 0, queue.descriptors(), queue.used(), queue.available(), 0};
  VFSMEND_TRY(wire_.tell(Request::kSetVringAddr, raw(addresses), {}, answer_by()));
  VFSMEND_TRY(event(Request::kSetVringCall, queue.call()));
  VFSMEND_TRY(event(Request::kSetVringKick, queue.kick()));
  return state(Request::kSetVringEnable, 1);
}

Result<void> FuseSession::init(const SessionWishes& wishes) {
  fuse_init_in in{};
  in.major = FUSE_KERNEL_VERSION;
  in.minor = FUSE_KERNEL_MINOR_VERSION;
  in.max_readahead = 1U << 17;
  in.flags = FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_MAX_PAGES | FUSE_DO_READDIRPLUS |
             (wishes.writeback ? FUSE_WRITEBACK_CACHE : 0) |
             (wishes.announce_submounts ? FUSE_SUBMOUNTS : 0) |
             // virtiofsd has ACLs only with a guest that sends the long setxattr.
             (wishes.posix_acl ? FUSE_POSIX_ACL | FUSE_DONT_MASK | FUSE_SETXATTR_EXT : 0);
  VFSMEND_TRY_ASSIGN(const auto out, answer_as<fuse_init_out>(request(FUSE_INIT, 0, raw(in),
                                                                      sizeof(fuse_init_out))));
  setxattr_ext_ = (out.flags & FUSE_SETXATTR_EXT) != 0;
  return {};
}

Result<Bytes> FuseSession::request(std::uint32_t opcode, NodeId node, Bytes body,
                                   std::size_t capacity) {
  fuse_in_header head{};
  head.len = static_cast<std::uint32_t>(sizeof head + body.size());
  head.opcode = opcode;
  head.unique = ++unique_;
  head.nodeid = node;
  head.uid = kRootUid;
  const Bytes header = raw(head);
  message_.assign(header.begin(), header.end());
  message_.insert(message_.end(), body.begin(), body.end());
  VFSMEND_TRY_ASSIGN(const Bytes answer, requests_.exchange(message_, sizeof(fuse_out_header) + capacity,
                                                            answer_by()));
  VFSMEND_TRY_ASSIGN(const auto out, answer_as<fuse_out_header>(Result<Bytes>(answer)));
  if (out.unique != unique_ || out.len > answer.size() || out.len < sizeof out) {
    return fail(ErrorCode::kFormat, fmt::format("FUSE request {}: an answer to {}, of {} bytes in {}",
                                                unique_, out.unique, out.len, answer.size()));
  }
  if (out.error > 0 || out.error < -kLargestErrno) {
    return fail(ErrorCode::kFormat,
                fmt::format("FUSE request {}: an answer with error {}", unique_, out.error));
  }
  if (out.error != 0) return fail_errno(-out.error, fmt::format("FUSE opcode {}", opcode));
  return answer.subspan(sizeof out, out.len - sizeof out);
}

Result<Looked> FuseSession::lookup(NodeId parent, std::string_view name) {
  VFSMEND_TRY_ASSIGN(const auto out,
                     answer_as<fuse_entry_out>(request(FUSE_LOOKUP, parent, Body().text(name).get(),
                                                       sizeof(fuse_entry_out))));
  return Looked{out.nodeid, attributes_of(out.attr)};
}

Result<void> FuseSession::forget(NodeId node, std::uint64_t lookups) {
  fuse_in_header head{};
  const fuse_forget_in in{lookups};
  head.len = sizeof head + sizeof in;
  head.opcode = FUSE_FORGET;
  head.unique = ++unique_;
  head.nodeid = node;
  const Body body = Body().add(head).add(in);
  return done(high_priority_.exchange(body.get(), 0, answer_by()));
}

Result<HandleId> FuseSession::open(NodeId node, std::int32_t flags) {
  fuse_open_in in{};
  in.flags = static_cast<std::uint32_t>(flags);
  VFSMEND_TRY_ASSIGN(const auto out, answer_as<fuse_open_out>(
                                         request(FUSE_OPEN, node, raw(in), sizeof(fuse_open_out))));
  return out.fh;
}

Result<HandleId> FuseSession::opendir(NodeId node) {
  const fuse_open_in in{};
  VFSMEND_TRY_ASSIGN(
      const auto out,
      answer_as<fuse_open_out>(request(FUSE_OPENDIR, node, raw(in), sizeof(fuse_open_out))));
  return out.fh;
}

Result<Created> FuseSession::create(NodeId parent, std::string_view name, std::int32_t flags,
                                    std::uint32_t mode) {
  struct Answer {
    fuse_entry_out entry;
    fuse_open_out open;
  };
  fuse_create_in in{};
  in.flags = static_cast<std::uint32_t>(flags);
  in.mode = mode;
  VFSMEND_TRY_ASSIGN(const auto out,
                     answer_as<Answer>(request(FUSE_CREATE, parent, Body().add(in).text(name).get(),
                                               sizeof(Answer))));
  return Created{{out.entry.nodeid, attributes_of(out.entry.attr)}, out.open.fh};
}

Result<void> FuseSession::unlink(NodeId parent, std::string_view name) {
  return done(request(FUSE_UNLINK, parent, Body().text(name).get(), 0));
}

Result<void> FuseSession::rename(NodeId parent, std::string_view name, NodeId new_parent,
                                 std::string_view new_name) {
  const fuse_rename_in in{new_parent};
  return done(request(FUSE_RENAME, parent, Body().add(in).text(name).text(new_name).get(), 0));
}

Result<std::string> FuseSession::read(NodeId node, HandleId handle, std::uint64_t offset,
                                      std::uint32_t size) {
  fuse_read_in in{};
  in.fh = handle;
  in.offset = offset;
  in.size = size;
  VFSMEND_TRY_ASSIGN(const Bytes out, request(FUSE_READ, node, raw(in), size));
  return std::string(as_text(out));
}

Result<std::uint32_t> FuseSession::write(NodeId node, HandleId handle, std::uint64_t offset,
                                         std::string_view bytes) {
  fuse_write_in in{};
  in.fh = handle;
  in.offset = offset;
  in.size = static_cast<std::uint32_t>(bytes.size());
  VFSMEND_TRY_ASSIGN(const auto out,
                     answer_as<fuse_write_out>(request(FUSE_WRITE, node,
                                                       Body().add(in).bytes(bytes).get(),
                                                       sizeof(fuse_write_out))));
  return out.size;
}

Result<Attributes> FuseSession::getattr(NodeId node) {
  const fuse_getattr_in in{};
  VFSMEND_TRY_ASSIGN(
      const auto out,
      answer_as<fuse_attr_out>(request(FUSE_GETATTR, node, raw(in), sizeof(fuse_attr_out))));
  return attributes_of(out.attr);
}

Result<void> FuseSession::setxattr(NodeId node, std::string_view name, std::string_view value) {
  fuse_setxattr_in in{};
  in.size = static_cast<std::uint32_t>(value.size());
  const Bytes whole = raw(in);
  // The second half only where it was agreed on.
  const Bytes head = setxattr_ext_ ? whole : whole.first(FUSE_COMPAT_SETXATTR_IN_SIZE);
  return done(request(FUSE_SETXATTR, node,
                      Body().bytes(as_text(head)).text(name).bytes(value).get(), 0));
}

Result<void> FuseSession::release(NodeId node, HandleId handle, bool directory) {
  fuse_release_in in{};
  in.fh = handle;
  return done(request(directory ? FUSE_RELEASEDIR : FUSE_RELEASE, node, raw(in), 0));
}

Result<void> FuseSession::stop() {
  for (const std::uint32_t index : {0U, 1U}) {
    RingState state;
    std::array<std::uint8_t, sizeof state> reply{};
    VFSMEND_TRY(wire_.ask(Request::kGetVringBase, raw(RingState{index, 0}), {}, reply, answer_by()));
  }
  return {};
}

}  // namespace vfsmend::daemon
