// SPDX-License-Identifier: Apache-2.0
// `vfsmend nodemap`, in a guest: a worker looks through /proc, and this process writes the map.
#include <fmt/format.h>

#include "base/text.h"
#include "manifest/nodemap_collect.h"
#include "sys/atomic_file.h"
#include "sys/drop_caches.h"
#include "vfsmend/commands.h"
#include "vfsmend/looking.h"
#include "vfsmend/settings.h"

namespace vfsmend {
namespace {

struct NodemapSettings {
  std::string mount_point;
  std::string file;  // empty: standard output
  bool drop_caches = false;
  RunSettings run;
};

Result<NodemapSettings> nodemap_settings(const Parsed& parsed) {
  NodemapSettings settings;
  if (parsed.operands.size() != 1 || !parsed.operands[0].starts_with('/')) {
    return fail(ErrorCode::kUsage,
                "one MOUNT: the whole path of a virtio-fs or FUSE mount point, as /share");
  }
  settings.mount_point = parsed.operands[0];
  settings.file = parsed.value("output", "-");
  if (settings.file.empty()) return fail(ErrorCode::kUsage, "--output: an empty name");
  if (settings.file == "-") settings.file.clear();
  settings.drop_caches = parsed.has("drop-caches");
  VFSMEND_TRY_ASSIGN(settings.run, run_settings(parsed));
  return settings;
}

Rendered collect(const NodemapSettings& settings, sys::Calls& calls, const Progress& progress) {
  const std::string& trace = settings.run.trace_id;
  const auto failed = [&](const Error& error) -> Rendered {
    const bool usage = error.code == ErrorCode::kUsage;
    return {usage ? exit_status::kUsage : exit_status::kOperational, "",
            message(trace, "nodemap: " + error.text)};
  };
  if (settings.drop_caches) {
    progress("the caches of the kernel");
    if (const Result<void> dropped = sys::drop_name_caches(); !dropped) {
      return failed(dropped.error());
    }
  }
  progress("the processes in /proc");
  const Result<NodeMap> map = collect_node_map(calls, settings.mount_point);
  if (!map) return failed(map.error());
  Rendered rendered;
  rendered.out = node_map_text(*map);
  for (const std::string& text : map->warnings) rendered.err += message(trace, text);
  return rendered;
}

}  // namespace

Result<int> cmd_nodemap(const Parsed& parsed, const Io& io) {
  VFSMEND_TRY_ASSIGN(const NodemapSettings settings, nodemap_settings(parsed));
  const std::string& trace = settings.run.trace_id;
  const auto unable = [&](Unable why, const std::string& reason) -> Rendered {
    const int exit =
        why == Unable::kCancelled ? exit_status::kCancelled : exit_status::kOperational;
    return {exit, "", message(trace, "nodemap: " + reason)};
  };
  Rendered rendered = look_bounded(
      settings.run,
      [&](const Progress& progress) { return collect(settings, *io.calls, progress); }, unable);
  if (rendered.exit == exit_status::kGood && !settings.file.empty()) {
    const auto written = sys::replace_file(*io.changes, settings.file, rendered.out, sys::FileMode::kPrivate);
    if (!written) {
      rendered = {exit_status::kOperational, "",
                  message(trace, "nodemap: " + written.error().text)};
    }
    rendered.out.clear();
  }
  return deliver(rendered, trace, "", io);
}

}  // namespace vfsmend
