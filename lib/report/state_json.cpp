// SPDX-License-Identifier: Apache-2.0
// vfsmend.state/1. A location is an object of one member, named by the variant, so that a reader
// asks for `.location.Path.filename` of every inode.
#include "report/json.h"
#include "report/json_writer.h"
#include "report/redact.h"
#include "report/state_listing.h"
#include "verdict/rules.h"

namespace vfsmend {
namespace {

std::string hex(Bytes bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

class StateWriter {
 public:
  StateWriter(JsonWriter& json, bool redact) : json_(json), redact_(redact) {}

  void path(std::string_view name, std::string_view value) {
    if (redact_) json_.member(name, redact_path(value));
    else json_.member(name, value);
  }

  void write(const State& state) {
    json_.begin_array("inodes");
    for (const Inode& inode : state.inodes) write(inode);
    json_.end_array();
    json_.member_id("next_inode", state.next_inode);
    json_.begin_array("handles");
    for (const Handle& handle : state.handles) write(handle);
    json_.end_array();
    json_.member_id("next_handle", state.next_handle);
    json_.begin_object("options");
    json_.member("writeback", state.options.writeback);
    json_.member("announce_submounts", state.options.announce_submounts);
    json_.member("posix_acl", state.options.posix_acl);
    json_.member("sup_group_extension", state.options.sup_group_extension);
    json_.end_object();
    json_.begin_array("mount_paths");
    for (const auto& [id, where] : state.mount_paths) {
      json_.begin_object();
      json_.member_id("mnt_id", id);
      path("path", where);
      json_.end_object();
    }
    json_.end_array();
  }

 private:
  void write(const FileHandle& handle) {
    json_.begin_object();
    json_.member_id("mnt_id", handle.mount_id);
    json_.member("handle_type", static_cast<int>(handle.type));
    json_.member("handle", hex(handle.data));
    json_.end_object();
  }

  void write_location(const Inode& inode) {
    json_.begin_object("location");
    if (const auto* at = location_as<Path>(inode)) {
      json_.begin_object("Path");
      json_.member_id("parent", at->parent);
      path("filename", at->filename);
      if (!at->fullname.empty()) path("fullname", at->fullname);
      json_.end_object();
    } else if (const auto* full = location_as<FullPath>(inode)) {
      json_.begin_object("FullPath");
      path("filename", full->filename);
      json_.end_object();
    } else if (const auto* by_handle = location_as<HandleLocation>(inode)) {
      json_.key("FileHandle");
      write(by_handle->handle);
    } else {
      json_.begin_object(location_as<RootNode>(inode) ? "RootNode" : "Invalid");
      json_.end_object();
    }
    json_.end_object();
  }

  void write(const Inode& inode) {
    json_.begin_object();
    json_.member_id("id", inode.id);
    json_.member_id("refcount", inode.refcount);
    write_location(inode);
    json_.key("file_handle");
    if (inode.file_handle) write(*inode.file_handle);
    else json_.null();
    json_.end_object();
  }

  void write(const Handle& handle) {
    json_.begin_object();
    json_.member_id("id", handle.id);
    json_.member_id("inode", handle.inode);
    json_.begin_object("source");
    json_.begin_object("OpenInode");
    json_.member("flags", static_cast<int>(handle.flags));
    json_.end_object();
    json_.end_object();
    json_.member("flags_text", flags_text(handle.flags));
    json_.end_object();
  }

  JsonWriter& json_;
  bool redact_;
};

void write_failure(JsonWriter& json, const std::optional<DecodeFailure>& failure) {
  json.key("error");
  if (!failure) return json.null();
  json.begin_object();
  json.member("text", postcard::text_of(failure->error));
  json.member_count("offset", failure->offset);
  json.member("field", failure->field);
  json.end_object();
}

void write_device(JsonWriter& json, const ListedDevice& listed, bool redact) {
  const SnapshotDevice& device = listed.device;
  json.begin_object();
  json.member("id", device.id);
  json.member("tag", device.tag);
  json.begin_array("notes");
  for (const std::string& note : device.notes) json.value(note);
  json.end_array();
  json.key("bytes");
  device.state ? json.count(device.state->size()) : json.null();
  json.member_or_null("dialect", listed.decoded ? name_of(listed.decoded->dialect) : "");
  json.member_count("trailing_bytes",
                    listed.decoded ? device.state->size() - listed.decoded->consumed : 0);
  write_failure(json, listed.failure);
  json.key("state");
  if (listed.decoded) {
    json.begin_object();
    StateWriter(json, redact).write(listed.decoded->state);
    json.end_object();
  } else {
    json.null();
  }
  json.end_object();
}

}  // namespace

std::string state_json(const StateListing& listing, int exit_code) {
  JsonWriter json;
  StateWriter paths(json, listing.redact_paths);
  json.begin_object();
  json.member("schema", "vfsmend.state/1");
  json.member("tool", tool_name());
  json.member("exit_code", exit_code);
  json.member_or_null("trace_id", listing.trace_id);
  json.begin_object("snapshot");
  paths.path("path", listing.snapshot_path);
  json.member_or_null("container", listing.container ? name_of(*listing.container) : "");
  json.end_object();
  json.begin_array("devices");
  for (const ListedDevice& device : listing.devices) {
    write_device(json, device, listing.redact_paths);
  }
  json.end_array();
  json.begin_array("not_read");
  for (const std::string& file : listing.not_read) {
    json.value(listing.redact_paths ? redact_path(file) : file);
  }
  json.end_array();
  json.member_or_null("reason", listing.reason);
  json.end_object();
  std::string out;
  json.end_line(out);
  return out;
}

}  // namespace vfsmend
