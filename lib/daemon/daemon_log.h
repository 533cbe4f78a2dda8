// SPDX-License-Identifier: Apache-2.0
// What a virtiofsd says on its standard error about a load: the only place where the reason of a
// failed one stands, and under guest-error the stubs.
//
//   log    = record*
//   record = "[" time " " level " " module "] " text LF (4 spaces, text LF)*
//   level  = "ERROR" | "WARN " | "INFO " | "DEBUG" | "TRACE"
//
// The lines of a text behind its first are set in by the logger (env_logger), so that a name with a
// line break in it cannot pass for a record.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "state/fs_state.h"

namespace vfsmend::daemon {

struct DaemonLog {
  // Of the last load that failed: behind "Migration failed: Failed to load state: ".
  std::optional<std::string> load_error;
  // Stubs, with the text of what befell them.
  std::map<NodeId, std::string> invalid_inodes;
  std::map<HandleId, std::string> invalid_handles;
  // All other errors, and what stands outside records (a usage message, a panic): one a line.
  std::string other;
};

[[nodiscard]] DaemonLog parse_log(std::string_view text);

}  // namespace vfsmend::daemon
