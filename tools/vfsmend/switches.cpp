// SPDX-License-Identifier: Apache-2.0
#include "vfsmend/switches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/text.h"

namespace vfsmend {
namespace {

constexpr std::array<std::string_view, 13> kSwitches = {
    "sandbox",   "writeback",          "announce-submounts", "no-announce-submounts",
    "posix-acl", "inode-file-handles", "modcaps",            "rlimit-nofile",
    "cache",     "thread-pool-size",   "allow-direct-io",    "readonly",
    "on-error"};

tl::unexpected<Error> no_such_value(std::string_view name, std::string_view value,
                                    std::string_view values) {
  return fail(ErrorCode::kUsage,
              fmt::format("--{}: \"{}\" is none of {}", name, printable(value), values));
}

// +NAME and -NAME, joined by colons, with or without CAP_ and in any case. Capabilities that no
// load makes use of are passed over. Where the option stands twice the daemon takes the last alone.
Result<void> apply_modcaps(std::string_view list, Capabilities& capabilities) {
  capabilities = {};
  for (std::string_view rest = list; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    std::string word(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word.size() < 2 || (word[0] != '+' && word[0] != '-')) {
      return fail(ErrorCode::kUsage,
                  fmt::format("--modcaps: \"{}\": each capability begins with + or -, as in "
                              "+dac_read_search",
                              printable(word)));
    }
    const bool on = word[0] == '+';
    word.erase(0, 1);
    for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (word.starts_with("cap_")) word.erase(0, 4);
    if (word == "dac_override") capabilities.dac_override = on;
    if (word == "dac_read_search") {
      capabilities.dac_read_search = on;
      capabilities.dac_read_search_dropped = !on;
    }
    if (word == "fowner") capabilities.fowner = on;
  }
  return {};
}

Result<void> apply_choice(std::string_view name, std::string_view value, Destination& to) {
  if (name == "sandbox") {
    const auto sandbox = sandbox_named(value);
    if (!sandbox) return no_such_value(name, value, "namespace, chroot, none");
    to.sandbox = *sandbox;
  } else if (name == "inode-file-handles") {
    // "fallback" is virtiofsd's older word for prefer.
    const auto when = inode_file_handles_named(value == "fallback" ? "prefer" : value);
    if (!when) return no_such_value(name, value, "never, prefer, mandatory");
    to.inode_file_handles = *when;
  } else if (name == "on-error") {
    const auto on_error = on_error_named(value);
    if (!on_error) return no_such_value(name, value, "abort, guest-error");
    to.on_error = *on_error;
  } else if (name == "cache") {
    constexpr std::array<std::string_view, 4> kPolicies = {"auto", "always", "never", "metadata"};
    const std::string_view policy = value == "none" ? "never" : value;  // an older word too
    if (std::find(kPolicies.begin(), kPolicies.end(), policy) == kPolicies.end()) {
      return no_such_value(name, value, "auto, always, never, metadata");
    }
    to.cache = policy;
  } else {  // posix-acl
    if (!value.empty() && value != "never" && value != "auto" && value != "always") {
      return no_such_value(name, value, "never, auto, always");
    }
    to.posix_acl = value != "never";
  }
  return {};
}

Result<void> apply_to(std::string_view name, std::string_view value, Destination& to) {
  if (name == "writeback") to.writeback = true;
  else if (name == "announce-submounts") to.announce_submounts = true;
  else if (name == "no-announce-submounts") to.announce_submounts = false;
  else if (name == "allow-direct-io") to.allow_direct_io = true;
  else if (name == "readonly") to.readonly = true;
  else if (name == "modcaps") return apply_modcaps(value, to.capabilities);
  else if (name == "rlimit-nofile" || name == "thread-pool-size") {
    VFSMEND_TRY_ASSIGN(const std::uint64_t number,
                       parse_number(name, value, std::numeric_limits<std::uint32_t>::max()));
    if (name == "rlimit-nofile") to.rlimit_nofile = number;
    else to.thread_pool_size = number;
  } else {
    return apply_choice(name, value, to);
  }
  return {};
}

}  // namespace

bool Switches::has(std::string_view name) const {
  return std::find(given.begin(), given.end(), name) != given.end();
}

bool is_switch(std::string_view name) {
  return std::find(kSwitches.begin(), kSwitches.end(), name) != kSwitches.end();
}

Result<void> apply_switch(std::string_view name, std::string_view value, Switches& switches) {
  VFSMEND_TRY(apply_to(name, value, switches.destination));
  const std::string_view said = name == "no-announce-submounts" ? "announce-submounts" : name;
  if (!switches.has(said)) switches.given.emplace_back(said);
  return {};
}

Result<std::uint64_t> parse_number(std::string_view option, std::string_view text,
                                   std::uint64_t largest) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > largest) {
    return fail(ErrorCode::kUsage, fmt::format("--{}: \"{}\" is not a number from 0 to {}", option,
                                               printable(text), largest));
  }
  return number;
}

Result<Version> parse_version(std::string_view text) {
  constexpr std::string_view kName = "virtiofsd ";
  std::string_view rest = text.starts_with(kName) ? text.substr(kName.size()) : text;
  std::array<unsigned, 3> parts{};
  std::size_t count = 0;
  bool good = true;
  while (good && count < parts.size()) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), parts[count]);
    good = error == std::errc();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    ++count;
    if (!rest.starts_with('.')) break;
    rest.remove_prefix(1);
  }
  // "1.14.0-dev" and "1.13.2 (build 7)" are of that version.
  if (!good || count < 2 || (!rest.empty() && rest[0] != '-' && rest[0] != ' ')) {
    return fail(ErrorCode::kUsage, fmt::format("--virtiofsd-version: \"{}\" is no version like "
                                               "1.13.2",
                                               printable(text)));
  }
  const Version version{parts[0], parts[1], parts[2]};
  if (version < Version{1, 11, 0}) {
    return fail(ErrorCode::kUsage,
                fmt::format("--virtiofsd-version: {} cannot load a device state; the first that "
                            "can is 1.11.0",
                            printable(text)));
  }
  return version;
}

}  // namespace vfsmend
