// SPDX-License-Identifier: Apache-2.0
#include "manifest/nodemap.h"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "sys/read_file.h"

namespace vfsmend {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{64} << 20;
constexpr const char* kSchema = "vfsmend.nodemap/1";
constexpr std::array<std::string_view, 5> kKinds = {"fd", "cwd", "root", "exe", "map"};

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;
using Value = rapidjson::Value;

void put_text(Writer& json, const char* key, std::string_view value) {
  json.Key(key);
  json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

// Paths are bytes; JSON is UTF-8. Base64 brings every one of them back.
void put_path(Writer& json, const std::string& key, std::string_view value) {
  if (is_utf8(value)) return put_text(json, key.c_str(), value);
  put_text(json, (key + "_b64").c_str(), base64(value));
}

void put_entry(Writer& json, const NodeMapEntry& entry) {
  json.StartObject();
  put_text(json, "node", std::to_string(entry.node));
  put_text(json, "ino", std::to_string(entry.ino));
  put_path(json, "path", entry.path);
  put_text(json, "kind", name_of(entry.kind));
  json.Key("nlink");
  json.Int(entry.nlink);
  json.Key("pid");
  json.Int(entry.pid);
  if (entry.kind == HolderKind::kFd) {
    json.Key("fd");
    json.Int(entry.fd);
    json.Key("flags");
    json.Int(entry.flags);
  }
  if (entry.deleted) {
    json.Key("deleted");
    json.Bool(true);
  }
  json.EndObject();
}

std::string_view view_of(const Value& text) {
  return {text.GetString(), text.GetStringLength()};
}

const Value* member(const Value& object, const char* key) {
  const auto at = object.FindMember(key);
  return at == object.MemberEnd() ? nullptr : &at->value;
}

Result<std::string> text_in(const Value& object, const char* key) {
  const Value* const value = member(object, key);
  if (value != nullptr && value->IsString()) return std::string(view_of(*value));
  return fail(ErrorCode::kFormat, fmt::format("\"{}\" is missing, or no text", key));
}

Result<std::string> path_in(const Value& object, const std::string& key) {
  if (const Value* const coded = member(object, (key + "_b64").c_str())) {
    auto bytes = coded->IsString() ? from_base64(view_of(*coded)) : std::nullopt;
    if (bytes) return *std::move(bytes);
    return fail(ErrorCode::kFormat, fmt::format("\"{}_b64\" is no base64", key));
  }
  return text_in(object, key.c_str());
}

Result<std::uint64_t> id_in(const Value& object, const char* key) {
  VFSMEND_TRY_ASSIGN(const std::string text, text_in(object, key));
  std::uint64_t id = 0;
  const char* const end = text.data() + text.size();
  const auto [after, bad] = std::from_chars(text.data(), end, id);
  if (bad == std::errc() && after == end) return id;
  return fail(ErrorCode::kFormat,
              fmt::format("\"{}\" is \"{}\", no decimal number of 64 bits", key, printable(text)));
}

// `otherwise` where there is none.
Result<std::int32_t> number_in(const Value& object, const char* key, std::int32_t otherwise) {
  const Value* const value = member(object, key);
  if (value == nullptr) return otherwise;
  if (value->IsInt()) return value->GetInt();
  return fail(ErrorCode::kFormat, fmt::format("\"{}\" is no number of 32 bits", key));
}

Result<NodeMapEntry> entry_in(const Value& json) {
  if (!json.IsObject()) return fail(ErrorCode::kFormat, "no JSON object");
  NodeMapEntry entry;
  VFSMEND_TRY_ASSIGN(entry.node, id_in(json, "node"));
  if (entry.node == 0) return fail(ErrorCode::kFormat, "\"node\" is 0, the id of no node");
  VFSMEND_TRY_ASSIGN(entry.ino, id_in(json, "ino"));
  VFSMEND_TRY_ASSIGN(entry.path, path_in(json, "path"));
  VFSMEND_TRY_ASSIGN(const std::string kind, text_in(json, "kind"));
  std::size_t at = 0;
  while (at < kKinds.size() && kKinds.at(at) != kind) ++at;
  if (at == kKinds.size()) {
    return fail(
        ErrorCode::kFormat,
        fmt::format("\"kind\" is \"{}\", none of fd, cwd, root, exe, map", printable(kind)));
  }
  entry.kind = static_cast<HolderKind>(at);
  VFSMEND_TRY_ASSIGN(entry.nlink, number_in(json, "nlink", 0));
  VFSMEND_TRY_ASSIGN(entry.pid, number_in(json, "pid", 0));
  VFSMEND_TRY_ASSIGN(entry.fd, number_in(json, "fd", -1));
  VFSMEND_TRY_ASSIGN(entry.flags, number_in(json, "flags", -1));
  const Value* const deleted = member(json, "deleted");
  if (deleted != nullptr && !deleted->IsBool()) {
    return fail(ErrorCode::kFormat, "\"deleted\" is neither true nor false");
  }
  entry.deleted = deleted != nullptr && deleted->GetBool();
  return entry;
}

Result<NodeMap> map_in(const Value& json) {
  VFSMEND_TRY_ASSIGN(const std::string schema, text_in(json, "schema"));
  if (schema != kSchema) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("\"{}\" is not {}: take a map that vfsmend nodemap wrote",
                            printable(schema), kSchema));
  }
  NodeMap map;
  VFSMEND_TRY_ASSIGN(map.tool, text_in(json, "tool"));
  VFSMEND_TRY_ASSIGN(map.time, text_in(json, "time"));
  VFSMEND_TRY_ASSIGN(map.mount_point, path_in(json, "mount"));
  VFSMEND_TRY_ASSIGN(map.fs_type, text_in(json, "fs_type"));
  VFSMEND_TRY_ASSIGN(map.source, path_in(json, "source"));
  const Value* const entries = member(json, "entries");
  if (entries == nullptr || !entries->IsArray()) {
    return fail(ErrorCode::kFormat, "\"entries\" is missing, or no list");
  }
  map.entries.reserve(entries->Size());
  for (const Value& one : entries->GetArray()) {
    Result<NodeMapEntry> entry = entry_in(one);
    if (!entry) {
      return tl::make_unexpected(
          std::move(entry).error().context(fmt::format("entries[{}]", map.entries.size())));
    }
    map.entries.push_back(*std::move(entry));
  }
  if (const Value* const warnings = member(json, "warnings"); warnings && warnings->IsArray()) {
    for (const Value& one : warnings->GetArray()) {
      if (one.IsString()) map.warnings.emplace_back(view_of(one));
    }
  }
  return map;
}

}  // namespace

std::string_view name_of(HolderKind kind) {
  return kKinds.at(static_cast<std::size_t>(kind));
}

std::string node_map_text(const NodeMap& map) {
  rapidjson::StringBuffer buffer;
  Writer json(buffer);
  json.StartObject();
  put_text(json, "schema", kSchema);
  put_text(json, "tool", map.tool);
  put_text(json, "time", map.time);
  put_path(json, "mount", map.mount_point);
  put_text(json, "fs_type", utf8_lossy(map.fs_type));
  put_path(json, "source", map.source);
  json.Key("entries");
  json.StartArray();
  for (const NodeMapEntry& entry : map.entries) put_entry(json, entry);
  json.EndArray();
  json.Key("warnings");
  json.StartArray();
  for (const std::string& text : map.warnings) json.String(utf8_lossy(text).c_str());
  json.EndArray();
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

Result<NodeMap> parse_node_map(std::string_view bytes) {
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(bytes.data(), bytes.size());
  if (json.HasParseError()) {
    return fail(ErrorCode::kFormat, fmt::format("byte {}: {}", json.GetErrorOffset(),
                                                rapidjson::GetParseError_En(json.GetParseError())));
  }
  if (!json.IsObject()) return fail(ErrorCode::kFormat, "no JSON object");
  return map_in(json);
}

Result<NodeMap> read_node_map(sys::Calls& calls, const std::string& path) {
  const auto read = [&]() -> Result<NodeMap> {
    VFSMEND_TRY_ASSIGN(const sys::Located located, sys::locate(calls, AT_FDCWD, path));
    VFSMEND_TRY_ASSIGN(const sys::RegularFile file, sys::open_regular(calls, located));
    if (file.stamp.size > kLargest) {
      return fail(ErrorCode::kLimit,
                  fmt::format("{} bytes are too many for a node map (at most {})", file.stamp.size,
                              kLargest));
    }
    ByteVector bytes(file.stamp.size);
    VFSMEND_TRY(sys::read_exactly(calls, file.fd.get(), bytes, 0));
    return parse_node_map(as_text(bytes));
  };
  Result<NodeMap> map = read();
  if (!map) return tl::make_unexpected(std::move(map).error().context(printable(path)));
  return map;
}

}  // namespace vfsmend
