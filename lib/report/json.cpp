// SPDX-License-Identifier: Apache-2.0
#include "report/json.h"

#include "base/text.h"
#include "report/json_writer.h"

namespace vfsmend {
namespace {

void write_facts(JsonWriter& json, std::string_view name, const Facts& facts) {
  json.begin_object(name);
  for (const auto& [key, value] : facts) json.member(key, value);
  json.end_object();
}

void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
  json.begin_array(name);
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

void write_ids(JsonWriter& json, std::string_view name, const std::vector<std::uint64_t>& ids) {
  json.begin_array(name);
  for (const std::uint64_t id : ids) json.id(id);
  json.end_array();
}

void write_remedy(JsonWriter& json, const std::optional<Remedy>& remedy) {
  json.key("repair");
  if (!remedy) return json.null();
  json.begin_object();
  json.member("action", remedy->action);
  json.member("safe", remedy->safe);
  write_texts(json, "casualties", remedy->casualties);
  json.member("applied", false);
  json.end_object();
}

void write_finding_members(JsonWriter& json, const Finding& finding) {
  const CodeInfo& code = info(finding.code);
  const char severity = static_cast<char>(code.severity);
  json.member("code", code.id);
  json.member("severity", std::string_view(&severity, 1));
  json.member_id("inode", finding.inode);
  json.member_id("handle", finding.handle);
  json.member_or_null("path", finding.path);
  json.member_or_null("path_b64",
                      is_utf8(finding.path) ? std::string() : base64(finding.path));
  json.member("open", finding.open);
  json.member("message", finding.message);
  write_facts(json, "before", finding.before);
  write_facts(json, "after", finding.after);
  json.member_or_null("guest_sees", finding.guest_sees);
  write_remedy(json, finding.repair);
}

void write_findings(JsonWriter& json, const std::vector<Finding>& findings) {
  json.begin_array("findings");
  for (const Finding& finding : findings) {
    json.begin_object();
    write_finding_members(json, finding);
    json.end_object();
  }
  json.end_array();
}

void write_restore(JsonWriter& json, const Restore& restore) {
  json.begin_object("restore");
  json.member("outcome", name_of(restore.outcome));
  json.member("error", restore.error);
  json.member("wrapped", restore.wrapped);
  write_ids(json, "invalid_inodes", restore.invalid_inodes);
  write_ids(json, "invalid_handles", restore.invalid_handles);
  json.member("dead_mount", restore.dead_mount);
  json.end_object();
}

void write_rehearsal(JsonWriter& json, const Rehearsal& rehearsal) {
  json.begin_object("rehearsal");
  json.member_or_null("version", rehearsal.version);
  json.member("outcome", name_of(rehearsal.outcome));
  json.member("error", rehearsal.error);
  write_ids(json, "invalid_inodes", rehearsal.invalid_inodes);
  write_ids(json, "invalid_handles", rehearsal.invalid_handles);
  json.member("load_us", rehearsal.load_us);
  json.member("agrees", rehearsal.agrees);
  json.member_or_null("reason", rehearsal.reason);
  json.end_object();
}

void write_capture(JsonWriter& json, const CaptureSummary& capture) {
  json.begin_object("capture");
  json.member_count("entries", capture.entries);
  json.member_count("hashed_bytes", capture.hashed_bytes);
  json.member_count("unlocated", capture.unlocated);
  json.end_object();
}

void write_elsewhere(JsonWriter& json, const std::vector<Elsewhere>& elsewhere) {
  json.begin_array("elsewhere");
  for (const Elsewhere& other : elsewhere) {
    json.begin_object();
    json.member("profile", name_of(other.profile));
    json.member("outcome", name_of(other.outcome));
    json.member("error", other.error);
    json.member("dead_mount", other.dead_mount);
    json.member("on_error", name_of(other.on_error));
    json.end_object();
  }
  json.end_array();
}

void write_device_members(JsonWriter& json, const DeviceReport& device) {
  json.member("id", device.id);
  json.member("tag", device.tag);
  json.member_or_null("shared_dir", device.shared_dir);
  json.member_or_null("dialect", device.dialect ? name_of(*device.dialect) : "");
  json.member("profile", name_of(device.profile));
  json.member("on_error", name_of(device.on_error));
  json.member_count("inodes", device.inodes);
  json.member_count("handles", device.handles);
  json.member("verdict", name_of(device.verdict));
  write_restore(json, device.restore);
  if (device.rehearsal) write_rehearsal(json, *device.rehearsal);
  if (device.capture) write_capture(json, *device.capture);
  write_elsewhere(json, device.elsewhere);
}

void write_devices(JsonWriter& json, const Report& report, bool with_findings) {
  json.begin_array("devices");
  for (const DeviceReport& device : report.devices) {
    json.begin_object();
    write_device_members(json, device);
    if (with_findings) write_findings(json, device.findings);
    json.end_object();
  }
  json.end_array();
}

void write_verdict(JsonWriter& json, const Report& report, int exit_code) {
  json.member("verdict", name_of(report.verdict));
  json.member("exit_code", exit_code);
}

void write_snapshot(JsonWriter& json, const Report& report) {
  json.member_or_null("trace_id", report.trace_id);
  json.begin_object("snapshot");
  json.member("path", report.snapshot_path);
  json.member_or_null("container", report.container ? name_of(*report.container) : "");
  json.end_object();
  json.key("manifest");
  if (!report.manifest) return json.null();
  json.begin_object();
  json.member("path", report.manifest->path);
  json.member_count("bytes", report.manifest->bytes);
  json.member("time", report.manifest->time);
  json.end_object();
}

void write_repair(JsonWriter& json, const RepairSummary& repair) {
  json.begin_object("repair");
  json.member("applied", repair.applied);
  json.member_or_null("journal", repair.journal);
  json.member_or_null("kept", repair.kept);
  json.begin_array("steps");
  for (const RepairStep& step : repair.steps) {
    json.begin_object();
    json.member("device", step.device);
    json.member("code", info(step.code).id);
    json.member_id("inode", step.inode);
    json.member_id("handle", step.handle);
    json.member_or_null("path", step.path);
    json.member_or_null("path_b64", is_utf8(step.path) ? std::string() : base64(step.path));
    json.member("action", step.action);
    json.member("safe", step.safe);
    write_texts(json, "casualties", step.casualties);
    json.member("reason", step.reason);
    json.member("precondition", step.precondition);
    json.member("inverse", step.inverse);
    json.end_object();
  }
  json.end_array();
  write_texts(json, "left", repair.left);
  json.member_or_null("extracted_from", repair.extracted_from);
  json.member_or_null("use", repair.use);
  json.end_object();
}

void write_counts(JsonWriter& json, const Report& report) {
  json.begin_object("counts");
  for (const auto& [code, count] : report.counts) json.member_count(code, count);
  json.end_object();
}

void write_end(JsonWriter& json, const Report& report) {
  if (report.repair) write_repair(json, *report.repair);
  write_texts(json, "assumptions", report.assumptions);
  json.begin_object("timing_us");
  json.member("decode", report.timing.decode);
  json.member("walk", report.timing.walk);
  json.member("hash", report.timing.hash);
  json.member("total", report.timing.total);
  json.end_object();
  json.member_or_null("reason", report.reason);
}

void write_finding_line(JsonWriter& json, const std::string* device, const Finding& finding,
                        std::string& out) {
  json.begin_object();
  json.member("line", "finding");
  json.key("device");
  device != nullptr ? json.value(*device) : json.null();
  write_finding_members(json, finding);
  json.end_object();
  json.end_line(out);
}

}  // namespace

std::string_view tool_name() { return "vfsmend " VFSMEND_VERSION; }

std::string report_json(const Report& report, int exit_code) {
  JsonWriter json;
  json.begin_object();
  json.member("schema", "vfsmend.report/1");
  json.member("tool", tool_name());
  write_verdict(json, report, exit_code);
  write_snapshot(json, report);
  write_findings(json, report.findings);
  write_counts(json, report);
  write_devices(json, report, true);
  write_end(json, report);
  json.end_object();
  std::string out;
  json.end_line(out);
  return out;
}

std::string report_jsonl(const Report& report, int exit_code) {
  std::string out;
  JsonWriter json;
  json.begin_object();
  json.member("schema", "vfsmend.report/1");
  json.member("line", "report");
  json.member("tool", tool_name());
  write_snapshot(json, report);
  json.end_object();
  json.end_line(out);
  for (const Finding& finding : report.findings) write_finding_line(json, nullptr, finding, out);
  for (const DeviceReport& device : report.devices) {
    for (const Finding& finding : device.findings) {
      write_finding_line(json, &device.id, finding, out);
    }
  }
  json.begin_object();
  json.member("line", "summary");
  write_verdict(json, report, exit_code);
  write_counts(json, report);
  write_devices(json, report, false);
  write_end(json, report);
  json.end_object();
  json.end_line(out);
  return out;
}

}  // namespace vfsmend
