// SPDX-License-Identifier: Apache-2.0
// From the words of the command line to what a command works with. All that can be found wrong
// without a look at the snapshot is found here, and is kUsage.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/open.h"
#include "verdict/check.h"
#include "vfsmend/io.h"
#include "vfsmend/options.h"

namespace vfsmend {

enum class Format { kText, kJson, kJsonLines };

struct OutputSettings {
  Format format = Format::kText;
  std::string file;  // empty: standard output
  ColorWhen color = ColorWhen::kAuto;
  bool redact_paths = false;
};

struct RunSettings {
  std::chrono::milliseconds deadline{30'000};  // 0: none
  std::string trace_id;
  std::vector<std::string> notes;  // for standard error, before anything is done
};

struct CheckSettings {
  CheckRequest request;
  RunSettings run;
  OutputSettings output;
};

struct InspectSettings {
  std::string snapshot_path;
  OpenOptions open;
  std::optional<Dialect> dialect;
  RunSettings run;
  OutputSettings output;
};

struct RehearseSettings {
  CheckSettings check;
  std::string virtiofsd;                  // program
  std::vector<std::string> daemon_words;  // its switches, but those that are ours to give
  bool read_only = false;                 // the bind of the share
};

[[nodiscard]] Result<RehearseSettings> rehearse_settings(const Parsed& parsed);
[[nodiscard]] Result<CheckSettings> check_settings(const Parsed& parsed);
[[nodiscard]] Result<InspectSettings> inspect_settings(const Parsed& parsed);
[[nodiscard]] Result<ColorWhen> color_setting(const Parsed& parsed);

}  // namespace vfsmend
