// SPDX-License-Identifier: Apache-2.0
#include "repair/journal_host.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>

#include "base/text.h"

namespace vfsmend::journal {
namespace {

constexpr std::uint32_t kPermissions = 07777;

void put_number(Writer& json, const char* key, std::uint64_t value) {
  json.Key(key);
  json.Uint64(value);
}

void put_time(Writer& json, const char* key, std::int64_t value) {
  json.Key(key);
  json.Int64(value);
}

void put_mode(Writer& json, const char* key, std::uint32_t mode) {
  put_text(json, key, fmt::format("{:04o}", mode));
}

tl::unexpected<Error> wrong(const char* key, const char* what) {
  return fail(ErrorCode::kFormat, fmt::format("\"{}\" is missing, or no {}", key, what));
}

Result<std::uint64_t> get_number(const rapidjson::Value& object, const char* key, std::uint64_t most) {
  const auto at = object.FindMember(key);
  if (at == object.MemberEnd() || !at->value.IsUint64() || at->value.GetUint64() > most) {
    return wrong(key, "number");
  }
  return at->value.GetUint64();
}

Result<std::int64_t> get_time(const rapidjson::Value& object, const char* key) {
  const auto at = object.FindMember(key);
  if (at == object.MemberEnd() || !at->value.IsInt64()) return wrong(key, "time");
  return at->value.GetInt64();
}

Result<std::uint32_t> get_mode(const rapidjson::Value& object, const char* key, std::uint32_t most) {
  VFSMEND_TRY_ASSIGN(const std::string text, get_text(object, key));
  std::uint32_t mode = 0;
  const auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (err != std::errc() || end != text.data() + text.size() || mode > most) return wrong(key, "mode");
  return mode;
}

Result<const rapidjson::Value*> get_list(const rapidjson::Value& object, const char* key) {
  const auto at = object.FindMember(key);
  if (at == object.MemberEnd() || !at->value.IsArray()) return wrong(key, "list");
  for (const auto& entry : at->value.GetArray()) {
    if (!entry.IsObject() && !entry.IsArray()) return wrong(key, "list of objects");
  }
  return &at->value;
}

void put_facts(Writer& json, const char* key, const HostFacts& facts) {
  json.Key(key);
  json.StartObject();
  put_mode(json, "mode", facts.mode);
  put_number(json, "uid", facts.uid);
  put_number(json, "gid", facts.gid);
  put_time(json, "mtime", facts.mtime);
  json.Key("xattrs");
  json.StartArray();
  for (const auto& [name, value] : facts.xattrs) {
    json.StartArray();
    json.String(base64(name).c_str());
    json.String(base64(value).c_str());
    json.EndArray();
  }
  json.EndArray();
  json.EndObject();
}

Result<std::string> decoded(const rapidjson::Value& text) {
  if (text.IsString()) {
    if (auto bytes = from_base64({text.GetString(), text.GetStringLength()})) return *std::move(bytes);
  }
  return wrong("xattrs", "list of pairs in base64");
}

Result<HostFacts> get_facts(const rapidjson::Value& object, const char* key) {
  constexpr std::uint64_t kMost = 0xffffffff;
  const auto at = object.FindMember(key);
  if (at == object.MemberEnd() || !at->value.IsObject()) return wrong(key, "object");
  HostFacts out;
  VFSMEND_TRY_ASSIGN(out.mode, get_mode(at->value, "mode", kPermissions));
  VFSMEND_TRY_ASSIGN(const std::uint64_t uid, get_number(at->value, "uid", kMost));
  VFSMEND_TRY_ASSIGN(const std::uint64_t gid, get_number(at->value, "gid", kMost));
  out.uid = static_cast<std::uint32_t>(uid);
  out.gid = static_cast<std::uint32_t>(gid);
  VFSMEND_TRY_ASSIGN(out.mtime, get_time(at->value, "mtime"));
  VFSMEND_TRY_ASSIGN(const rapidjson::Value* xattrs, get_list(at->value, "xattrs"));
  for (const auto& pair : xattrs->GetArray()) {
    if (!pair.IsArray() || pair.Size() != 2) return wrong("xattrs", "list of pairs");
    VFSMEND_TRY_ASSIGN(std::string name, decoded(pair[0]));
    VFSMEND_TRY_ASSIGN(std::string value, decoded(pair[1]));
    out.xattrs.emplace_back(std::move(name), std::move(value));
  }
  return out;
}

Result<HostStep> get_object(const rapidjson::Value& object) {
  HostStep out;
  VFSMEND_TRY_ASSIGN(out.path, get_text(object, "path"));
  VFSMEND_TRY_ASSIGN(out.identity.type, get_mode(object, "type", S_IFMT));
  VFSMEND_TRY_ASSIGN(out.identity.ino, get_number(object, "ino", ~std::uint64_t{0}));
  VFSMEND_TRY_ASSIGN(out.identity.btime, get_time(object, "btime"));
  VFSMEND_TRY_ASSIGN(out.before, get_facts(object, "before"));
  VFSMEND_TRY_ASSIGN(out.after, get_facts(object, "after"));
  return out;
}

Result<HiddenStep> get_hidden(const rapidjson::Value& object) {
  constexpr std::uint64_t kMost = 0xffffffff;
  HiddenStep out;
  VFSMEND_TRY_ASSIGN(out.node, get_number(object, "node", ~std::uint64_t{0}));
  VFSMEND_TRY_ASSIGN(out.file.hidden_name, get_text(object, "name"));
  if (out.file.hidden_name.empty() || out.file.hidden_name.find('/') != std::string::npos) {
    return wrong("name", "name in the share's root");
  }
  VFSMEND_TRY_ASSIGN(out.file.file, get_text(object, "kept"));
  VFSMEND_TRY_ASSIGN(out.file.size, get_number(object, "size", ~std::uint64_t{0}));
  VFSMEND_TRY_ASSIGN(out.file.mode, get_mode(object, "mode", kPermissions));
  VFSMEND_TRY_ASSIGN(const std::uint64_t uid, get_number(object, "uid", kMost));
  VFSMEND_TRY_ASSIGN(const std::uint64_t gid, get_number(object, "gid", kMost));
  out.file.uid = static_cast<std::uint32_t>(uid);
  out.file.gid = static_cast<std::uint32_t>(gid);
  VFSMEND_TRY_ASSIGN(out.file.mtime, get_time(object, "mtime"));
  const auto hash = object.FindMember("xxh3");
  if (hash == object.MemberEnd() || !hash->value.IsArray() || hash->value.Size() != 2 ||
      !hash->value[0].IsUint64() || !hash->value[1].IsUint64()) {
    return wrong("xxh3", "pair of numbers");
  }
  out.file.hash = {hash->value[0].GetUint64(), hash->value[1].GetUint64()};
  return out;
}

void put_object(Writer& json, const HostStep& step) {
  json.StartObject();
  put_path(json, "path", step.path);
  put_mode(json, "type", step.identity.type);
  put_number(json, "ino", step.identity.ino);
  put_time(json, "btime", step.identity.btime);
  put_facts(json, "before", step.before);
  put_facts(json, "after", step.after);
  json.EndObject();
}

void put_hidden(Writer& json, const HiddenStep& step) {
  json.StartObject();
  put_number(json, "node", step.node);
  put_path(json, "name", step.file.hidden_name);
  put_path(json, "kept", step.file.file);
  put_number(json, "size", step.file.size);
  json.Key("xxh3");
  json.StartArray();
  for (const std::uint64_t half : step.file.hash) json.Uint64(half);
  json.EndArray();
  put_mode(json, "mode", step.file.mode);
  put_number(json, "uid", step.file.uid);
  put_number(json, "gid", step.file.gid);
  put_time(json, "mtime", step.file.mtime);
  json.EndObject();
}

}  // namespace

void put_text(Writer& json, const char* key, std::string_view value) {
  json.Key(key);
  json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void put_path(Writer& json, const char* key, const std::string& value) {
  if (is_utf8(value)) return put_text(json, key, value);
  put_text(json, fmt::format("{}_b64", key).c_str(), base64(value));
}

Result<std::string> get_text(const rapidjson::Value& object, const char* key) {
  const auto at = object.FindMember(key);
  if (at != object.MemberEnd() && at->value.IsString()) {
    return std::string(at->value.GetString(), at->value.GetStringLength());
  }
  const std::string coded = fmt::format("{}_b64", key);
  const auto b64 = object.FindMember(coded.c_str());
  if (b64 != object.MemberEnd() && b64->value.IsString()) {
    auto bytes = from_base64({b64->value.GetString(), b64->value.GetStringLength()});
    if (bytes) return *std::move(bytes);
  }
  return wrong(key, "text");
}

void put_host(Writer& json, const JournalHost& host) {
  json.StartObject();
  put_path(json, "device", host.device);
  put_path(json, "share", host.share);
  put_time(json, "share_mtime", host.work.share_mtime);
  json.Key("objects");
  json.StartArray();
  for (const HostStep& step : host.work.steps) put_object(json, step);
  json.EndArray();
  json.Key("hidden");
  json.StartArray();
  for (const HiddenStep& step : host.work.hidden) put_hidden(json, step);
  json.EndArray();
  json.EndObject();
}

Result<JournalHost> get_host(const rapidjson::Value& object) {
  if (!object.IsObject()) return wrong("host", "list of objects");
  JournalHost out;
  VFSMEND_TRY_ASSIGN(out.device, get_text(object, "device"));
  VFSMEND_TRY_ASSIGN(out.share, get_text(object, "share"));
  VFSMEND_TRY_ASSIGN(out.work.share_mtime, get_time(object, "share_mtime"));
  VFSMEND_TRY_ASSIGN(const rapidjson::Value* objects, get_list(object, "objects"));
  for (const auto& entry : objects->GetArray()) {
    if (!entry.IsObject()) return wrong("objects", "list of objects");
    VFSMEND_TRY_ASSIGN(HostStep step, get_object(entry));
    out.work.steps.push_back(std::move(step));
  }
  VFSMEND_TRY_ASSIGN(const rapidjson::Value* hidden, get_list(object, "hidden"));
  for (const auto& entry : hidden->GetArray()) {
    if (!entry.IsObject()) return wrong("hidden", "list of objects");
    VFSMEND_TRY_ASSIGN(HiddenStep step, get_hidden(entry));
    out.work.hidden.push_back(std::move(step));
  }
  return out;
}

}  // namespace vfsmend::journal
