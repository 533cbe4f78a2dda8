// SPDX-License-Identifier: Apache-2.0
// What a command has to say, brought to where the user wants it.
#pragma once

#include <string>
#include <string_view>

#include "vfsmend/io.h"
#include "vfsmend/settings.h"

namespace vfsmend {

struct Rendered {
  int exit = exit_status::kGood;
  std::string out;  // the document; empty where there is none
  std::string err;  // messages, whole lines
  std::string data{};  // for the caller of the worker; not printed
};

// "vfsmend: [trace] text\n", with nothing in it that a terminal would obey.
[[nodiscard]] std::string message(std::string_view trace_id, std::string_view text);

// Prints or writes, and returns the exit status: that of `rendered`, or 8 where it could not be
// written. A reader of a pipe who has gone away wanted no more: that is no error, and no message.
[[nodiscard]] int deliver(const Rendered& rendered, std::string_view trace_id,
                          const std::string& file, const Io& io);

// Replaces `file` by `content` in one step (a reader sees the old file or the new one), with mode
// 0600 or that of the file before. Only a regular file or none may stand there: a rename over
// /dev/null would be felt by the whole machine.
[[nodiscard]] Result<void> write_file(sys::Changes& changes, const std::string& file,
                                      std::string_view content);

}  // namespace vfsmend
