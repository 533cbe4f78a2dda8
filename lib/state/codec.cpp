// SPDX-License-Identifier: Apache-2.0
#include "state/codec.h"

#include <fmt/core.h>

#include "base/check.h"

namespace vfsmend {
namespace {

using postcard::DecodeError;
using postcard::Sink;
using postcard::Source;

// Fewest bytes an item takes: what bounds an allocation before anything is read.
constexpr std::size_t kSmallestInode = 4;   // id, refcount, location index, option
constexpr std::size_t kSmallestHandle = 4;  // id, inode, source index, flags
constexpr std::size_t kSmallestMount = 2;   // id, string length

// Reads one state. Where it stops, `item_` and `field_` name the place.
class Decoder {
 public:
  Decoder(Bytes bytes, Reader reader) : in_(bytes), reader_(reader) {}

  tl::expected<Decoded, DecodeFailure> run() {
    Decoded out;
    read_all(out);
    if (!in_.ok()) return tl::make_unexpected(failure());
    out.consumed = in_.offset();
    return out;
  }

 private:
  // Remembers what is read now, in case it is the last.
  Source& at(const char* field) {
    if (in_.ok()) field_ = field;
    return in_;
  }

  void read_all(Decoded& out) {
    const std::uint32_t version = enum_index("version", reader_ == Reader::kVirtiofsd ? 2 : 1);
    out.dialect = reader_ == Reader::kCube ? Dialect::kCubeV1
                  : version == 0           ? Dialect::kV1
                                           : Dialect::kV2;
    State& state = out.state;
    read_list("inodes", kSmallestInode, state.inodes, [this] { return inode(); });
    state.next_inode = at("next_inode").u64();
    read_list("handles", kSmallestHandle, state.handles, [this] { return handle(); });
    state.next_handle = at("next_handle").u64();
    state.options.writeback = at("options.writeback").boolean();
    state.options.announce_submounts = at("options.announce_submounts").boolean();
    state.options.posix_acl = at("options.posix_acl").boolean();
    state.options.sup_group_extension = at("options.sup_group_extension").boolean();
    if (version == 0) return;
    read_list("mount_paths", kSmallestMount, state.mount_paths, [this] {
      const std::uint64_t id = at("mount_id").u64();
      return std::pair(id, at("path").string());
    });
  }

  template <typename Item, typename ReadItem>
  void read_list(const char* name, std::size_t smallest, std::vector<Item>& out, ReadItem read) {
    std::size_t room = 0;
    list_ = nullptr;
    const std::uint64_t count = at(name).count(smallest, room);
    if (!in_.ok()) return;
    out.reserve(room);
    list_ = name;
    for (item_ = 0; item_ < count; ++item_) {
      Item item = read();
      if (!in_.ok()) return;
      out.push_back(std::move(item));
    }
    list_ = nullptr;
  }

  std::uint32_t enum_index(const char* field, std::uint32_t variants) {
    const std::size_t start = in_.offset();
    const std::uint32_t index = at(field).u32();
    if (index >= variants) in_.fail(DecodeError::kBadEnum, start);
    return index;
  }

  Inode inode() {
    Inode out;
    out.id = at("id").u64();
    out.refcount = at("refcount").u64();
    out.location = location();
    if (at("file_handle").option()) out.file_handle = file_handle();
    return out;
  }

  Location location() {
    switch (enum_index("location", reader_ == Reader::kVirtiofsd ? 5 : 4)) {
      case 0: return RootNode{};
      case 1: {
        Path path;
        path.parent = at("location.parent").u64();
        path.filename = at("location.filename").string();
        if (reader_ == Reader::kCube) path.fullname = at("location.fullname").string();
        return path;
      }
      case 3: return FullPath{at("location.filename").string()};
      case 4: return HandleLocation{file_handle()};
      default: return Invalid{};  // 2, or in_ has failed
    }
  }

  FileHandle file_handle() {
    FileHandle out;
    out.mount_id = at("handle.mount_id").u64();
    out.type = at("handle.type").i32();
    out.data = at("handle.data").bytes();
    return out;
  }

  Handle handle() {
    Handle out;
    out.id = at("id").u64();
    out.inode = at("inode").u64();
    enum_index("source", 1);
    out.flags = at("flags").i32();
    return out;
  }

  [[nodiscard]] DecodeFailure failure() const {
    std::string field = list_ ? fmt::format("{}[{}].{}", list_, item_, field_) : field_;
    return {in_.error(), in_.error_at(), std::move(field)};
  }

  Source in_;
  Reader reader_;
  const char* list_ = nullptr;
  std::uint64_t item_ = 0;
  const char* field_ = "version";
};

void put(Sink& out, const FileHandle& handle) {
  out.u64(handle.mount_id);
  out.i32(handle.type);
  out.bytes(handle.data);
}

void put(Sink& out, const Location& location, Dialect dialect) {
  out.u64(location.index());
  if (const auto* path = std::get_if<Path>(&location)) {
    VFSMEND_CHECK(dialect == Dialect::kCubeV1 || path->fullname.empty());
    out.u64(path->parent);
    out.string(path->filename);
    if (dialect == Dialect::kCubeV1) out.string(path->fullname);
  } else if (const auto* full = std::get_if<FullPath>(&location)) {
    out.string(full->filename);
  } else if (const auto* by_handle = std::get_if<HandleLocation>(&location)) {
    put(out, by_handle->handle);
  }
}

}  // namespace

tl::expected<Decoded, DecodeFailure> decode(Bytes bytes, Reader reader) {
  return Decoder(bytes, reader).run();
}

ByteVector encode(const State& state, Dialect dialect) {
  VFSMEND_CHECK(dialect == Dialect::kV2 || state.mount_paths.empty());
  ByteVector bytes;
  Sink out(bytes);
  out.u64(dialect == Dialect::kV2 ? 1 : 0);
  out.u64(state.inodes.size());
  for (const Inode& inode : state.inodes) {
    out.u64(inode.id);
    out.u64(inode.refcount);
    put(out, inode.location, dialect);
    out.boolean(inode.file_handle.has_value());
    if (inode.file_handle) put(out, *inode.file_handle);
  }
  out.u64(state.next_inode);
  out.u64(state.handles.size());
  for (const Handle& handle : state.handles) {
    out.u64(handle.id);
    out.u64(handle.inode);
    out.u64(0);
    out.i32(handle.flags);
  }
  out.u64(state.next_handle);
  out.boolean(state.options.writeback);
  out.boolean(state.options.announce_submounts);
  out.boolean(state.options.posix_acl);
  out.boolean(state.options.sup_group_extension);
  if (dialect == Dialect::kV2) {
    out.u64(state.mount_paths.size());
    for (const auto& [id, path] : state.mount_paths) {
      out.u64(id);
      out.string(path);
    }
  }
  return bytes;
}

}  // namespace vfsmend
