// SPDX-License-Identifier: Apache-2.0
#include "snapshot/open.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

#include "snapshot/byte_source.h"
#include "snapshot/directory.h"
#include "snapshot/foreign.h"
#include "snapshot/qemu.h"
#include "snapshot/raw.h"

namespace vfsmend {
namespace {

constexpr std::uint64_t kHeadSize = 4096;

Result<void> read_file(ByteSource& source, const std::string& path,
                       std::optional<ContainerKind>& recognised, Snapshot& out) {
  VFSMEND_TRY_ASSIGN(const ByteVector head,
                     read_part(source, 0, std::min(source.size(), kHeadSize)));
  if (is_qemu_stream(head)) {
    recognised = out.kind = ContainerKind::kQemu;
    VFSMEND_TRY_ASSIGN(out.devices, read_qemu(source, path, out.notes));
    return {};
  }
  if (auto foreign = recognise_foreign(source, head)) {
    recognised = foreign->kind;
    return tl::make_unexpected(std::move(foreign->error));
  }
  out.kind = ContainerKind::kRaw;
  VFSMEND_TRY_ASSIGN(out.devices, read_raw(source, path));
  return {};
}

Result<void> read_path(sys::Calls& calls, const OpenOptions& options,
                       std::optional<ContainerKind>& recognised, Snapshot& out) {
  const auto in_context = [&](Error error) {
    return tl::make_unexpected(std::move(error).context(out.path));
  };
  auto located = sys::locate(calls, AT_FDCWD, out.path);
  if (!located) return in_context(std::move(located).error());
  if (S_ISDIR(located->mode)) {
    return read_directory(calls, *located, out.path, options, recognised, out);
  }
  if (!options.overlay_file.empty()) {
    return fail(ErrorCode::kUsage, fmt::format("{}: an overlay is for CubeSandbox snapshots; {} "
                                               "is a file",
                                               options.overlay_file, out.path));
  }
  auto file = sys::open_regular(calls, *located);
  if (!file) return in_context(std::move(file).error());
  out.files.push_back({out.path, file->stamp});
  FileSource source(calls, std::move(*file));
  auto read = read_file(source, out.path, recognised, out);
  if (!read) return in_context(std::move(read).error());
  return {};
}

// What is being written looks damaged, and is not: nobody may be told to throw it away.
tl::unexpected<Error> unless_changing(sys::Calls& calls, const std::vector<ReadFile>& files,
                                      Error error) {
  const std::vector<std::string> changed = changed_files(calls, files);
  if (changed.empty() || error.code == ErrorCode::kUsage) {
    return tl::make_unexpected(std::move(error));
  }
  return tl::make_unexpected(
      Error{ErrorCode::kSystem, EBUSY,
            fmt::format("{}: changed while it was read: still being written? ({})", changed[0],
                        error.text)});
}

}  // namespace

Result<Snapshot> open_snapshot(sys::Calls& calls, const std::string& path,
                               const OpenOptions& options,
                               std::optional<ContainerKind>& recognised) {
  recognised.reset();
  Snapshot out;
  out.path = path;
  auto read = read_path(calls, options, recognised, out);
  if (!read) return unless_changing(calls, out.files, std::move(read).error());
  return out;
}

std::vector<std::string> changed_files(sys::Calls& calls, const std::vector<ReadFile>& files) {
  std::vector<std::string> out;
  for (const ReadFile& file : files) {
    const auto now = sys::locate(calls, AT_FDCWD, file.path);
    if (!now || !(now->stamp == file.stamp)) out.push_back(file.path);
  }
  return out;
}

}  // namespace vfsmend
