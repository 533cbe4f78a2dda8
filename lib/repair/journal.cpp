// SPDX-License-Identifier: Apache-2.0
#include "repair/journal.h"

#include <fmt/format.h>
#include <rapidjson/error/en.h>

#include "base/text.h"
#include "repair/journal_host.h"
#include "sys/atomic_file.h"
#include "sys/read_file.h"

namespace vfsmend {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{64} << 20;
constexpr const char* kSchema = "vfsmend.journal/1";

using journal::get_text;
using journal::put_path;
using journal::put_text;
using journal::Writer;

void put_step(Writer& json, const std::string& device, const PlannedStep& step) {
  json.StartObject();
  put_text(json, "device", device);
  put_text(json, "code", info(step.code).id);
  if (step.inode) put_text(json, "inode", std::to_string(*step.inode));
  if (step.handle) put_text(json, "handle", std::to_string(*step.handle));
  if (!step.path.empty()) put_path(json, "path", step.path);
  put_text(json, "action", utf8_lossy(step.action));
  json.Key("casualties");
  json.StartArray();
  for (const std::string& lost : step.casualties) json.String(lost.c_str());
  json.EndArray();
  json.EndObject();
}

Result<void> parse_states(const rapidjson::Value& json, Journal& out) {
  const auto states = json.FindMember("states");
  if (states == json.MemberEnd() || !states->value.IsArray()) {
    return fail(ErrorCode::kFormat, "\"states\" is missing, or no list");
  }
  for (const auto& entry : states->value.GetArray()) {
    if (!entry.IsObject()) return fail(ErrorCode::kFormat, "\"states\": no JSON object in it");
    JournalState state;
    VFSMEND_TRY_ASSIGN(state.device, get_text(entry, "device"));
    VFSMEND_TRY_ASSIGN(state.before, get_text(entry, "before"));
    VFSMEND_TRY_ASSIGN(state.after, get_text(entry, "after"));
    out.states.push_back(std::move(state));
  }
  return {};
}

// A journal of before there were host steps has none.
Result<void> parse_host(const rapidjson::Value& json, Journal& out) {
  const auto done = json.FindMember("done");
  out.done = done == json.MemberEnd() || !done->value.IsBool() || done->value.GetBool();
  const auto host = json.FindMember("host");
  if (host == json.MemberEnd()) return {};
  if (!host->value.IsArray()) return fail(ErrorCode::kFormat, "\"host\" is no list");
  for (const auto& entry : host->value.GetArray()) {
    VFSMEND_TRY_ASSIGN(JournalHost one, journal::get_host(entry));
    out.host.push_back(std::move(one));
  }
  return {};
}

Result<Journal> parse(std::string_view bytes) {
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(bytes.data(), bytes.size());
  if (json.HasParseError()) {
    return fail(ErrorCode::kFormat,
                fmt::format("byte {}: {} A journal is JSON: give the file that the repair named",
                            json.GetErrorOffset(), rapidjson::GetParseError_En(json.GetParseError())));
  }
  if (!json.IsObject()) return fail(ErrorCode::kFormat, "no JSON object");
  VFSMEND_TRY_ASSIGN(const std::string schema, get_text(json, "schema"));
  if (schema != kSchema) {
    return fail(ErrorCode::kUnsupported, fmt::format("a journal of kind \"{}\", not {}",
                                                     printable(schema), kSchema));
  }
  Journal out;
  VFSMEND_TRY_ASSIGN(out.snapshot, get_text(json, "snapshot"));
  VFSMEND_TRY_ASSIGN(out.file, get_text(json, "file"));
  VFSMEND_TRY_ASSIGN(out.kept, get_text(json, "kept"));
  const auto size = json.FindMember("size_before");
  if (size == json.MemberEnd() || !size->value.IsUint64()) {
    return fail(ErrorCode::kFormat, "\"size_before\" is missing, or no number");
  }
  out.size_before = size->value.GetUint64();
  VFSMEND_TRY(parse_states(json, out));
  VFSMEND_TRY(parse_host(json, out));
  return out;
}

}  // namespace

std::string journal_text(const Journal& journal, const RepairPlan& plan, std::string_view time) {
  rapidjson::StringBuffer buffer;
  Writer json(buffer);
  json.StartObject();
  put_text(json, "schema", kSchema);
  put_text(json, "tool", "vfsmend " VFSMEND_VERSION);
  put_text(json, "time", time);
  put_path(json, "snapshot", journal.snapshot);
  put_path(json, "file", journal.file);
  put_path(json, "kept", journal.kept);
  json.Key("size_before");
  json.Uint64(journal.size_before);
  json.Key("done");
  json.Bool(journal.done);
  json.Key("states");
  json.StartArray();
  for (const JournalState& state : journal.states) {
    json.StartObject();
    put_path(json, "device", state.device);
    put_text(json, "before", state.before);
    put_text(json, "after", state.after);
    json.EndObject();
  }
  json.EndArray();
  json.Key("host");
  json.StartArray();
  for (const JournalHost& host : journal.host) journal::put_host(json, host);
  json.EndArray();
  json.Key("steps");
  json.StartArray();
  for (const DevicePlan& device : plan.devices) {
    for (const PlannedStep& one : device.steps) put_step(json, device.device, one);
  }
  json.EndArray();
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

namespace {

Result<std::string> read_text(sys::Calls& calls, const std::string& path) {
  VFSMEND_TRY_ASSIGN(const sys::Located located, sys::locate(calls, AT_FDCWD, path));
  VFSMEND_TRY_ASSIGN(const sys::RegularFile file, sys::open_regular(calls, located));
  if (file.stamp.size > kLargest) return fail(ErrorCode::kLimit, "too large for a journal");
  ByteVector bytes(file.stamp.size);
  VFSMEND_TRY(sys::read_exactly(calls, file.fd.get(), bytes, 0));
  return std::string(as_text(bytes));
}

}  // namespace

Result<Journal> read_journal(sys::Calls& calls, const std::string& path) {
  const auto in_context = [&](Error error) {
    return tl::make_unexpected(std::move(error).context(printable(path)));
  };
  Result<std::string> text = read_text(calls, path);
  if (!text) return in_context(std::move(text).error());
  Result<Journal> journal = parse(*text);
  if (!journal) return in_context(std::move(journal).error());
  return journal;
}

Result<void> reopen_journal(sys::Calls& calls, sys::Changes& changes, const std::string& path,
                            const Journal& journal) {
  VFSMEND_TRY_ASSIGN(const std::string text, read_text(calls, path));
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (json.HasParseError() || !json.IsObject() || !json.HasMember("done") || !json.HasMember("host")) {
    return fail(ErrorCode::kFormat, printable(path) + ": it changed");
  }
  json["done"].SetBool(false);
  auto host = json["host"].Begin();
  for (const JournalHost& each : journal.host) {
    if (host == json["host"].End()) break;
    (*host++)["share_mtime"].SetInt64(each.work.share_mtime);
  }
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  json.Accept(writer);
  return sys::replace_file(changes, path, std::string(buffer.GetString(), buffer.GetSize()) + "\n",
                           sys::FileMode::kPrivate);
}

}  // namespace vfsmend
