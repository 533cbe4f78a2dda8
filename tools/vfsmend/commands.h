// SPDX-License-Identifier: Apache-2.0
// One function a command, each in a file of its own (cmd_*.cpp). An error is what the command
// line asks for and cannot have; everything else is an exit status.
#pragma once

#include "base/result.h"
#include "vfsmend/io.h"
#include "vfsmend/options.h"

namespace vfsmend {

[[nodiscard]] Result<int> cmd_check(const Parsed& parsed, const Io& io);
[[nodiscard]] Result<int> cmd_capture(const Parsed& parsed, const Io& io);
[[nodiscard]] Result<int> cmd_inspect(const Parsed& parsed, const Io& io);
[[nodiscard]] Result<int> cmd_rehearse(const Parsed& parsed, const Io& io);
[[nodiscard]] Result<int> cmd_repair(const Parsed& parsed, const Io& io);
// `repair --finish JOURNAL`.
[[nodiscard]] Result<int> finish_repair_command(const Parsed& parsed, const Io& io);
[[nodiscard]] Result<int> cmd_undo(const Parsed& parsed, const Io& io);
[[nodiscard]] Result<int> cmd_nodemap(const Parsed& parsed, const Io& io);
[[nodiscard]] Result<int> cmd_explain(const Parsed& parsed, const Io& io);

}  // namespace vfsmend
