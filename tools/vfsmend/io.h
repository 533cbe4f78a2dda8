// SPDX-License-Identifier: Apache-2.0
// All that a command takes from its process and gives to it, so that a test can be the process.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sys/calls.h"
#include "sys/changes.h"

namespace vfsmend {

// Exclusive, no bit mask: a hook reads the exit code before the report.
namespace exit_status {
inline constexpr int kGood = 0;         // resume, or a command that did what it was asked
inline constexpr int kRepaired = 1;     // it was repaired, and resumes now
inline constexpr int kOperational = 8;  // indeterminate, or we could not do our work
inline constexpr int kUsage = 16;
inline constexpr int kCancelled = 32;
}  // namespace exit_status

struct Io {
  std::function<Result<void>(std::string_view)> out;
  std::function<void(std::string_view)> err;
  std::function<std::optional<std::string>(const char*)> env;
  // Asks the person at the terminal, and gives the line that is typed. Empty: there is no terminal.
  std::function<std::optional<std::string>(std::string_view question)> ask;
  bool out_is_terminal = false;
  unsigned terminal_columns = 0;  // 0 where it is not known
  sys::Calls* calls = nullptr;
  sys::Changes* changes = nullptr;
};

// The real one. Also makes sure that the three standard descriptors are taken (a file that was
// opened as number 1 would get the report), and that a reader who goes away is an error of write.
[[nodiscard]] Io process_io();

// What --color and the environment say: https://no-color.org, https://bixense.com/clicolors.
enum class ColorWhen { kAuto, kAlways, kNever };
[[nodiscard]] bool use_color(const Io& io, ColorWhen when, bool to_file);

// Columns to fill: the terminal's between 24 and 100, and 80 for a pipe or a file.
[[nodiscard]] unsigned text_width(const Io& io, bool to_file);

}  // namespace vfsmend
