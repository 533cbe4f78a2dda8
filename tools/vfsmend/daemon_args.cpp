// SPDX-License-Identifier: Apache-2.0
// virtiofsd's command line, as libvirt or a unit file has it, read for what decides about a
// restore. The list of its other switches is there to know which of them have a value: those of
// 1.11.0 to 1.14.0.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "vfsmend/switches.h"

namespace vfsmend {
namespace {

constexpr std::array<std::string_view, 14> kOtherWithValue = {
    "tag",     "socket",  "socket-path",   "socket-group",  "fd",        "xattrmap",
    "seccomp", "uid-map", "gid-map",       "translate-uid", "log-level", "translate-gid",
    "block",   "migration-mode"};
constexpr std::array<std::string_view, 16> kOtherFlags = {
    "xattr",          "no-xattr",  "allow-mmap",
    "no-readdirplus", "syslog",    "print-capabilities",
    "killpriv-v2",    "help",      "no-killpriv-v2",
    "version",        "d",         "f",
    "h",              "V",         "preserve-noatime",
    "security-label"};
constexpr std::array<std::string_view, 2> kOtherMigration = {"migration-verify-handles",
                                                             "migration-confirm-paths"};

template <std::size_t N>
bool in(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool has_value(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kOurs = {
      "sandbox", "inode-file-handles", "modcaps",    "rlimit-nofile",
      "cache",   "thread-pool-size",   "shared-dir", "migration-on-error"};
  return in(kOurs, name) || in(kOtherWithValue, name) || name == "o";
}

struct DaemonSwitch {
  std::string name;  // without dashes
  std::string value;
  bool has_value = false;
};

// The switches on a daemon's command line, in their order. Other words are passed over: the
// program's own name, or the value of a switch that nobody knows.
Result<std::vector<DaemonSwitch>> daemon_switches(std::string_view line) {
  VFSMEND_TRY_ASSIGN(const std::vector<std::string> words, shell_words(line));
  std::vector<DaemonSwitch> found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t dashes = word.find_first_not_of('-');
    if (dashes == 0 || dashes == std::string::npos) continue;
    const std::size_t equals = word.find('=');
    // -ocache=auto: a value sticks to a switch of one letter.
    const bool sticks = dashes == 1 && word.size() > 2 && word[1] == 'o';
    DaemonSwitch at;
    at.name = sticks ? "o" : word.substr(dashes, std::min(equals, word.size()) - dashes);
    at.has_value = true;
    if (sticks) at.value = word.substr(2);
    else if (equals != std::string::npos) at.value = word.substr(equals + 1);
    else if (has_value(at.name) && i + 1 < words.size()) at.value = words[++i];
    else at.has_value = false;
    found.push_back(std::move(at));
  }
  return found;
}

Result<void> apply_known(std::string_view name, std::string_view value, Switches& switches);

// The deprecated -o list of the C daemon: "source=/d,cache=always,no_writeback".
Result<void> apply_compat(std::string_view list, Switches& switches) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view word = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    const std::size_t equals = std::min(word.find('='), word.size());
    std::string name(word.substr(0, equals));
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    std::replace(name.begin(), name.end(), '_', '-');
    Destination& to = switches.destination;
    if (name == "source") name = "shared-dir";
    if (name == "no-writeback") to.writeback = false;
    else if (name == "no-posix-acl") to.posix_acl = false;
    else if (name == "no-allow-direct-io") to.allow_direct_io = false;
    else VFSMEND_TRY(apply_known(name, value, switches));
  }
  return {};
}

Result<void> apply_known(std::string_view name, std::string_view value, Switches& switches) {
  if (name == "o") return apply_compat(value, switches);
  if (name == "shared-dir") {
    switches.destination.shared_dir = value;
    return {};
  }
  if (name == "migration-on-error") return apply_switch("on-error", value, switches);
  if (name != "on-error" && is_switch(name)) return apply_switch(name, value, switches);
  if (!in(kOtherWithValue, name) && !in(kOtherFlags, name) && !in(kOtherMigration, name)) {
    switches.notes.push_back(
        fmt::format("--daemon-args: \"{}\" is no switch of virtiofsd that is known here, and "
                    "was passed over",
                    printable(name)));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> shell_words(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\n";
  constexpr std::string_view kEscapable = "\"\\$`";  // between double quotes
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const char next = i + 1 < line.size() ? line[i + 1] : '\0';
    const bool escape = c == '\\' && next != '\0' &&
                        (quote == 0 || (quote == '"' && kEscapable.find(next) != kEscapable.npos));
    if (quote == 0 && kBlanks.find(c) != kBlanks.npos) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
      continue;
    }
    in_word = true;
    if (escape) word += line[++i];
    else if (quote != 0 && c == quote) quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"')) quote = c;
    else word += c;
  }
  if (quote != 0) {
    return fail(ErrorCode::kUsage, fmt::format("--daemon-args: a quote {} is not closed", quote));
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

Result<void> apply_daemon_args(std::string_view line, Switches& switches) {
  VFSMEND_TRY_ASSIGN(const auto given, daemon_switches(line));
  for (const DaemonSwitch& at : given) {
    auto applied = apply_known(at.name, at.value, switches);
    if (!applied) return tl::make_unexpected(std::move(applied).error().context("--daemon-args"));
  }
  return {};
}

Result<std::vector<std::string>> words_to_pass_on(std::string_view line) {
  static constexpr std::array<std::string_view, 14> kNotPassedOn = {
      "shared-dir", "socket",  "socket-path", "socket-group", "fd",   "migration-on-error", "log-level",
      "syslog",     "version", "help",        "V",            "h",    "print-capabilities", "d"};
  VFSMEND_TRY_ASSIGN(const auto given, daemon_switches(line));
  std::vector<std::string> words;
  for (const DaemonSwitch& at : given) {
    if (at.name == "o") {
      return fail(ErrorCode::kUsage, "--daemon-args: a list with -o cannot be passed on to a daemon "
                                     "with another socket: write its switches with --");
    }
    if (in(kNotPassedOn, at.name)) continue;
    const std::string dashed = (at.name.size() == 1 ? "-" : "--") + at.name;
    words.push_back(at.has_value ? dashed + "=" + at.value : dashed);
  }
  return words;
}

}  // namespace vfsmend
