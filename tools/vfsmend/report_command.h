// SPDX-License-Identifier: Apache-2.0
// What commands that end in a report have in common: the worker, the deadline, the formats.
#pragma once

#include <functional>

#include "vfsmend/io.h"
#include "vfsmend/looking.h"
#include "vfsmend/settings.h"

namespace vfsmend {

// Runs `make` in the worker, renders its report there, and delivers it. `command` names it in
// messages. An error of `make` is one of usage: exit 16.
[[nodiscard]] int run_report_command(std::string_view command, const CheckSettings& settings,
                                     const Io& io,
                                     const std::function<Result<Report>(const Progress&)>& make);

}  // namespace vfsmend
