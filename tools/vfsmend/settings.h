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
#include "verdict/capture_snapshot.h"
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
  // What is read is not written over, under whatever name: `output` (empty: none) is none of `inputs`.
  std::string output{};
  std::vector<std::string> inputs{};
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

struct CaptureSettings {
  CaptureRequest request;
  RunSettings run;
  Format format = Format::kText;  // of what is told
  bool mtree = false;             // a specification instead of a manifest
  std::string file;               // of the manifest or the specification; empty: the default
  ColorWhen color = ColorWhen::kAuto;
};

struct RehearseSettings {
  CheckSettings check;
  std::string virtiofsd;                  // program
  std::vector<std::string> daemon_words;  // its switches, but those that are ours to give
  bool read_only = false;                 // the bind of the share
};

[[nodiscard]] Result<RehearseSettings> rehearse_settings(const Parsed& parsed);
[[nodiscard]] Result<CaptureSettings> capture_settings(const Parsed& parsed);
[[nodiscard]] Result<CheckSettings> check_settings(const Parsed& parsed);
// Nothing of the snapshot is written over by `output`.
void spare_snapshot(RunSettings& run, const std::string& output, const std::string& snapshot);
[[nodiscard]] Result<InspectSettings> inspect_settings(const Parsed& parsed);
[[nodiscard]] Result<ColorWhen> color_setting(const Parsed& parsed);

// Parts of them.
[[nodiscard]] Result<std::string> snapshot_operand(const Parsed& parsed);
[[nodiscard]] Result<RunSettings> run_settings(const Parsed& parsed);
[[nodiscard]] Result<pid_t> pid_setting(const Parsed& parsed, std::string_view name);  // 0: none
// Profile, dialect, shares and switches.
[[nodiscard]] Result<void> fill_destination(const Parsed& parsed, CheckRequest& request,
                                            RunSettings& run);

}  // namespace vfsmend
