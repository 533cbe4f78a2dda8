// SPDX-License-Identifier: Apache-2.0
// The daemon's own switches: from our command line, where they bear the same names, and from the
// daemon's command line as a process list shows it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verdict/destination.h"
#include "vfsmend/options.h"

namespace vfsmend {

struct Switches {
  Destination destination;
  std::vector<std::string> given;  // names of the switches that were said, each once
  std::vector<std::string> notes;  // what was passed over, for a person

  [[nodiscard]] bool has(std::string_view name) const;
};

// True where `name` is a switch that decides about a restore.
[[nodiscard]] bool is_switch(std::string_view name);

// kUsage, with the values that there are, where `value` is none of them.
[[nodiscard]] Result<void> apply_switch(std::string_view name, std::string_view value,
                                        Switches& switches);

// Words as a POSIX shell has them after quote removal; nothing is expanded. kUsage: an open quote.
[[nodiscard]] Result<std::vector<std::string>> shell_words(std::string_view line);

// `--daemon-args`: applies what decides about a restore, --shared-dir and --migration-on-error
// included, and passes over the rest; what virtiofsd 1.11 to 1.14 does not know either gets a note.
[[nodiscard]] Result<void> apply_daemon_args(std::string_view line, Switches& switches);

// The switches of `--daemon-args` for a daemon that we start: all but its socket, its share, its
// log, its error policy and what makes it print and end. kUsage: an -o list, which holds some of
// these.
[[nodiscard]] Result<std::vector<std::string>> words_to_pass_on(std::string_view line);

// A decimal number up to `largest`.
[[nodiscard]] Result<std::uint64_t> parse_number(std::string_view option, std::string_view text,
                                                 std::uint64_t largest);

// "1.13.2", "1.13" or "virtiofsd 1.13.2". kUsage: no version, or one without device state (1.10
// and before).
[[nodiscard]] Result<Version> parse_version(std::string_view text);

}  // namespace vfsmend
