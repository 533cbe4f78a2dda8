// SPDX-License-Identifier: Apache-2.0
// `vfsmend inspect`: reads a container, and shows what its devices have saved.
#include <utility>

#include "report/redact.h"
#include "report/state_listing.h"
#include "snapshot/open.h"
#include "vfsmend/commands.h"
#include "vfsmend/looking.h"
#include "vfsmend/output.h"
#include "vfsmend/settings.h"

namespace vfsmend {
namespace {

StateListing empty_listing(const InspectSettings& settings, std::string reason) {
  StateListing listing;
  listing.snapshot_path = settings.snapshot_path;
  listing.reason = std::move(reason);
  return listing;
}

Rendered render(StateListing listing, int exit, const InspectSettings& settings,
                const TextStyle& style) {
  listing.trace_id = settings.run.trace_id;
  listing.redact_paths = settings.output.redact_paths;
  if (listing.redact_paths) {
    listing.reason = redact_text(listing.reason, listing.snapshot_path);
  }
  Rendered rendered;
  rendered.exit = exit;
  rendered.out = settings.output.format == Format::kJson ? state_json(listing, exit)
                                                         : state_text(listing, style);
  return rendered;
}

}  // namespace

Result<int> cmd_inspect(const Parsed& parsed, const Io& io) {
  VFSMEND_TRY_ASSIGN(const InspectSettings settings, inspect_settings(parsed));
  const bool to_file = !settings.output.file.empty();
  const TextStyle style{text_width(io, to_file), use_color(io, settings.output.color, to_file)};

  const auto look = [&](const Progress& progress) -> Rendered {
    progress("the snapshot " + settings.snapshot_path);
    std::optional<ContainerKind> recognised;
    Result<Snapshot> snapshot =
        open_snapshot(*io.calls, settings.snapshot_path, settings.open, recognised);
    if (!snapshot) {
      StateListing listing = empty_listing(settings, snapshot.error().text);
      listing.container = recognised;
      return render(std::move(listing), exit_status::kOperational, settings, style);
    }
    StateListing listing = list_states(*std::move(snapshot), settings.dialect);
    const int exit = listing.reason.empty() ? exit_status::kGood : exit_status::kOperational;
    return render(std::move(listing), exit, settings, style);
  };
  const auto unable = [&](Unable why, std::string reason) -> Rendered {
    const int exit =
        why == Unable::kCancelled ? exit_status::kCancelled : exit_status::kOperational;
    return render(empty_listing(settings, std::move(reason)), exit, settings, style);
  };
  return deliver(look_bounded(settings.run, look, unable), settings.run.trace_id,
                 settings.output.file, io);
}

}  // namespace vfsmend
