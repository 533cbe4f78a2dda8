// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon_log.h"

#include <charconv>
#include <utility>

namespace vfsmend::daemon {
namespace {

constexpr std::string_view kIndent = "    ";

struct Record {
  std::string text;  // its first line may be empty
  bool error = false;
};

// The record that `line` begins; nothing where it begins none.
std::optional<Record> begin_record(std::string_view line) {
  // "[2026-01-02T03:04:05Z WARN  virtiofsd::limits] text"
  constexpr std::size_t kLevel = 22;
  constexpr std::size_t kModule = kLevel + 6;
  if (line.size() <= kModule || line[0] != '[' || line[kLevel - 1] != ' ' || line[20] != 'Z') {
    return std::nullopt;
  }
  const std::size_t end = line.find("] ", kModule);
  if (end == std::string_view::npos) return std::nullopt;
  return Record{std::string(line.substr(end + 2)), line.substr(kLevel, 5) == "ERROR"};
}

// `text` as "<before>NUMBER<between>REST"; nothing where it is not.
std::optional<std::pair<std::uint64_t, std::string>> numbered(std::string_view text,
                                                              std::string_view before,
                                                              std::string_view between) {
  if (!text.starts_with(before)) return std::nullopt;
  text.remove_prefix(before.size());
  std::uint64_t number = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (bad != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(between)) return std::nullopt;
  return std::pair(number, std::string(text.substr(between.size())));
}

void take(DaemonLog& log, const Record& record) {
  constexpr std::string_view kLoadFailed = "Migration failed: Failed to load state: ";
  if (record.text.starts_with(kLoadFailed)) {
    log.load_error = record.text.substr(kLoadFailed.size());
  } else if (auto inode = numbered(record.text, "Invalid inode ", " indexed: ")) {
    // One with a handle on it is told again, with the same text.
    log.invalid_inodes.insert(std::move(*inode));
  } else if (auto handle = numbered(record.text, "Invalid handle ", " is open in guest: ")) {
    log.invalid_handles.insert(std::move(*handle));
  } else if (record.error) {
    log.other += record.text + '\n';
  }
}

}  // namespace

DaemonLog parse_log(std::string_view text) {
  DaemonLog log;
  std::optional<Record> open;
  while (!text.empty()) {
    const std::size_t length = text.find('\n');
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
    if (open && line.starts_with(kIndent)) {
      open->text.append("\n").append(line.substr(kIndent.size()));
      continue;
    }
    if (open) take(log, *open);
    open = begin_record(line);
    if (!open && !line.empty()) log.other.append(line).append("\n");
  }
  if (open) take(log, *open);
  return log;
}

}  // namespace vfsmend::daemon
