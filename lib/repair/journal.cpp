// SPDX-License-Identifier: Apache-2.0
#include "repair/journal.h"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "base/text.h"
#include "sys/read_file.h"

namespace vfsmend {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{64} << 20;
constexpr const char* kSchema = "vfsmend.journal/1";

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

// Paths are bytes; JSON is UTF-8. Base64 brings every one of them back.
void text(Writer& json, const char* key, std::string_view value) {
  json.Key(key);
  json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void path(Writer& json, const char* key, const std::string& value) {
  if (is_utf8(value)) return text(json, key, value);
  text(json, fmt::format("{}_b64", key).c_str(), base64(value));
}

void step(Writer& json, const std::string& device, const StateStep& step) {
  json.StartObject();
  text(json, "device", device);
  text(json, "code", info(step.code).id);
  if (step.inode) text(json, "inode", std::to_string(*step.inode));
  if (step.handle) text(json, "handle", std::to_string(*step.handle));
  if (!step.path.empty()) path(json, "path", step.path);
  text(json, "action", utf8_lossy(step.action));
  json.Key("casualties");
  json.StartArray();
  for (const std::string& lost : step.casualties) json.String(lost.c_str());
  json.EndArray();
  json.EndObject();
}

Result<std::string> member(const rapidjson::Value& object, const char* key) {
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
  return fail(ErrorCode::kFormat, fmt::format("\"{}\" is missing, or no text", key));
}

Result<Journal> parse(std::string_view bytes) {
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(bytes.data(), bytes.size());
  if (json.HasParseError()) {
    return fail(ErrorCode::kFormat, fmt::format("byte {}: {}", json.GetErrorOffset(),
                                                rapidjson::GetParseError_En(json.GetParseError())));
  }
  if (!json.IsObject()) return fail(ErrorCode::kFormat, "no JSON object");
  VFSMEND_TRY_ASSIGN(const std::string schema, member(json, "schema"));
  if (schema != kSchema) {
    return fail(ErrorCode::kUnsupported, fmt::format("a journal of kind \"{}\", not {}",
                                                     printable(schema), kSchema));
  }
  Journal out;
  VFSMEND_TRY_ASSIGN(out.snapshot, member(json, "snapshot"));
  VFSMEND_TRY_ASSIGN(out.file, member(json, "file"));
  VFSMEND_TRY_ASSIGN(out.kept, member(json, "kept"));
  const auto size = json.FindMember("size_before");
  if (size == json.MemberEnd() || !size->value.IsUint64()) {
    return fail(ErrorCode::kFormat, "\"size_before\" is missing, or no number");
  }
  out.size_before = size->value.GetUint64();
  const auto states = json.FindMember("states");
  if (states == json.MemberEnd() || !states->value.IsArray()) {
    return fail(ErrorCode::kFormat, "\"states\" is missing, or no list");
  }
  for (const auto& entry : states->value.GetArray()) {
    if (!entry.IsObject()) return fail(ErrorCode::kFormat, "\"states\": no JSON object in it");
    JournalState state;
    VFSMEND_TRY_ASSIGN(state.device, member(entry, "device"));
    VFSMEND_TRY_ASSIGN(state.before, member(entry, "before"));
    VFSMEND_TRY_ASSIGN(state.after, member(entry, "after"));
    out.states.push_back(std::move(state));
  }
  return out;
}

}  // namespace

std::string journal_text(const Journal& journal, const RepairPlan& plan, std::string_view time) {
  rapidjson::StringBuffer buffer;
  Writer json(buffer);
  json.StartObject();
  text(json, "schema", kSchema);
  text(json, "tool", "vfsmend " VFSMEND_VERSION);
  text(json, "time", time);
  path(json, "snapshot", journal.snapshot);
  path(json, "file", journal.file);
  path(json, "kept", journal.kept);
  json.Key("size_before");
  json.Uint64(journal.size_before);
  json.Key("states");
  json.StartArray();
  for (const JournalState& state : journal.states) {
    json.StartObject();
    path(json, "device", state.device);
    text(json, "before", state.before);
    text(json, "after", state.after);
    json.EndObject();
  }
  json.EndArray();
  json.Key("steps");
  json.StartArray();
  for (const DevicePlan& device : plan.devices) {
    for (const StateStep& one : device.steps) step(json, device.device, one);
  }
  json.EndArray();
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

Result<Journal> read_journal(sys::Calls& calls, const std::string& path) {
  const auto in_context = [&](Error error) {
    return tl::make_unexpected(std::move(error).context(printable(path)));
  };
  Result<sys::Located> located = sys::locate(calls, AT_FDCWD, path);
  if (!located) return in_context(std::move(located).error());
  Result<sys::RegularFile> file = sys::open_regular(calls, *located);
  if (!file) return in_context(std::move(file).error());
  if (file->stamp.size > kLargest) return in_context({ErrorCode::kLimit, 0, "too large for a journal"});
  ByteVector bytes(file->stamp.size);
  const Result<void> read = sys::read_exactly(calls, file->fd.get(), bytes, 0);
  if (!read) return in_context(read.error());
  Result<Journal> journal = parse(as_text(bytes));
  if (!journal) return in_context(std::move(journal).error());
  return journal;
}

}  // namespace vfsmend
