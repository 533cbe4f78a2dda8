// SPDX-License-Identifier: Apache-2.0
#include "report/capture_text.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/layout.h"
#include "report/text_findings.h"

namespace vfsmend {
namespace {

std::string line(std::string_view text, const TextStyle& style) {
  return wrap(text, style.width, 2) + '\n';
}

std::string device_line(const DeviceReport& device) {
  std::string out = device.id.empty() ? "" : printable(device.id) + ": ";
  out += printable(device.shared_dir);
  if (!device.capture) return out + ": nothing recorded";
  out += fmt::format(": {} entries", device.capture->entries);
  if (device.dialect) out += fmt::format(" of {}", counted(device.inodes, "inode"));
  if (device.capture->hashed_bytes != 0) {
    out += fmt::format(", {} bytes hashed", device.capture->hashed_bytes);
  }
  if (device.capture->unlocated != 0) {
    out += fmt::format(", {} not to be found", counted(device.capture->unlocated, "inode"));
  }
  return out;
}

}  // namespace

std::string capture_text(const Report& report, const TextStyle& style) {
  std::string head = printable(report.snapshot_path);
  if (report.container) head += fmt::format(" ({})", name_of(*report.container));
  if (!report.trace_id.empty()) head += fmt::format(", trace {}", printable(report.trace_id));
  std::string out = line(head, style);
  for (const DeviceReport& device : report.devices) {
    out += line(device_line(device), style);
    const bool only = report.devices.size() == 1;
    out += findings_text(device.findings,
                         only ? report.counts : std::map<std::string, std::uint64_t>(), style);
  }
  for (const std::string& text : report.assumptions) out += line("note: " + printable(text), style);
  if (!report.reason.empty()) {
    return out + line("nothing was captured: " + printable(report.reason), style);
  }
  if (!report.manifest) return out;
  return out + line(fmt::format("captured to {} ({} bytes)", printable(report.manifest->path),
                                report.manifest->bytes), style);
}

}  // namespace vfsmend
