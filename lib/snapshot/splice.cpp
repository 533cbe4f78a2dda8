// SPDX-License-Identifier: Apache-2.0
#include "snapshot/splice.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/text.h"
#include "snapshot/byte_source.h"
#include "snapshot/limits.h"
#include "snapshot/qemu_splice.h"

namespace vfsmend {
namespace {

// The elements of a JSON array of numbers, compact, as serde_json writes them.
ByteVector digits_of(Bytes state) {
  ByteVector out;
  out.reserve(state.size() * 4);
  for (const std::uint8_t byte : state) {
    if (!out.empty()) out.push_back(',');
    if (byte >= 100) out.push_back(static_cast<std::uint8_t>('0' + byte / 100));
    if (byte >= 10) out.push_back(static_cast<std::uint8_t>('0' + byte / 10 % 10));
    out.push_back(static_cast<std::uint8_t>('0' + byte % 10));
  }
  return out;
}

// Those of `replacements` that change something.
class Chosen {
 public:
  explicit Chosen(const Snapshot& snapshot) : snapshot_(snapshot) {}

  Result<void> add(const Replacement& replacement) {
    const std::string name = printable(replacement.device);
    VFSMEND_TRY_ASSIGN(const SnapshotDevice* device, find(replacement.device, name));
    if (std::find(seen_.begin(), seen_.end(), device) != seen_.end()) {
      return fail(ErrorCode::kUsage, fmt::format("device {}: two states for it", name));
    }
    seen_.push_back(device);
    if (!device->state) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("device {}: the snapshot holds no state of it that another one could "
                              "take the place of",
                              name));
    }
    if (replacement.state.size() > kMaxStateBytes) {
      return fail(ErrorCode::kLimit, fmt::format("device {}: a state of {} bytes; more than {} are "
                                                 "not read",
                                                 name, replacement.state.size(), kMaxStateBytes));
    }
    if (*device->state != replacement.state) states_.push_back({device, &replacement.state});
    return {};
  }

  [[nodiscard]] const std::vector<NewState>& states() const { return states_; }
  // All devices of a snapshot are in one file.
  [[nodiscard]] const std::string& file() const { return seen_.front()->span.file; }

 private:
  Result<const SnapshotDevice*> find(const std::string& id, const std::string& name) const {
    const SnapshotDevice* found = nullptr;
    for (const SnapshotDevice& device : snapshot_.devices) {
      if (device.id != id) continue;
      if (found) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("device {}: the snapshot holds two of that name", name));
      }
      found = &device;
    }
    if (found) return found;
    return fail(ErrorCode::kUsage, fmt::format("device {}: the snapshot has no such device", name));
  }

  const Snapshot& snapshot_;
  std::vector<const SnapshotDevice*> seen_;
  std::vector<NewState> states_;
};

// The file at `path`, which has to be the one that was read.
Result<sys::RegularFile> reopen(sys::Calls& calls, const Snapshot& snapshot,
                                const std::string& path) {
  const auto read = std::find_if(snapshot.files.begin(), snapshot.files.end(),
                                 [&](const ReadFile& file) { return file.path == path; });
  VFSMEND_CHECK(read != snapshot.files.end());
  VFSMEND_TRY_ASSIGN(const sys::Located located, sys::locate(calls, AT_FDCWD, path));
  if (located.stamp == read->stamp) {
    VFSMEND_TRY_ASSIGN(sys::RegularFile file, sys::open_regular(calls, located));
    if (file.stamp == read->stamp) return file;
  }
  return tl::make_unexpected(
      Error{ErrorCode::kSystem, EBUSY, "changed since it was read: is it still being written?"});
}

Result<std::vector<sys::Edit>> edits_of(sys::Calls& calls, ContainerKind kind,
                                        const sys::RegularFile& file,
                                        const std::vector<NewState>& states) {
  std::vector<sys::Edit> out;
  if (states.empty()) return out;
  switch (kind) {
    case ContainerKind::kRaw:
      out.push_back({0, file.stamp.size, *states.front().state});
      return out;
    case ContainerKind::kCube:
    case ContainerKind::kCloudHypervisor:
      for (const auto& [device, state] : states) {
        out.push_back({device->span.begin, device->span.end, digits_of(*state)});
      }
      return out;
    case ContainerKind::kQemu: {
      BorrowedSource source(calls, file);
      return qemu_edits(source, states);
    }
    case ContainerKind::kLibvirt:
      break;
  }
  return fail(ErrorCode::kUnsupported, fmt::format("{} snapshots are not written", name_of(kind)));
}

Result<SplicedFile> plan(sys::Calls& calls, const Snapshot& snapshot, const Chosen& chosen) {
  SplicedFile out;
  out.path = chosen.file();
  VFSMEND_TRY_ASSIGN(out.original, reopen(calls, snapshot, out.path));
  VFSMEND_TRY_ASSIGN(out.edits, edits_of(calls, snapshot.kind, out.original, chosen.states()));
  std::sort(out.edits.begin(), out.edits.end(),
            [](const sys::Edit& a, const sys::Edit& b) { return a.begin < b.begin; });
  out.size = out.original.stamp.size;
  std::uint64_t at = 0;
  for (const sys::Edit& edit : out.edits) {
    // A state is what a guest makes of it, and may hold what looks like another one's section.
    if (edit.begin < at || edit.end < edit.begin || edit.end > out.original.stamp.size) {
      return fail(ErrorCode::kFormat,
                  fmt::format("byte {}: what is to be replaced overlaps", edit.begin));
    }
    at = edit.end;
    out.size = out.size - (edit.end - edit.begin) + edit.bytes.size();
  }
  const bool is_json =
      snapshot.kind == ContainerKind::kCube || snapshot.kind == ContainerKind::kCloudHypervisor;
  if (is_json && out.size > kMaxStateJsonBytes) {
    return fail(ErrorCode::kLimit, fmt::format("would have {} bytes; more than {} are not read",
                                               out.size, kMaxStateJsonBytes));
  }
  return out;
}

}  // namespace

Result<SplicedFile> splice(sys::Calls& calls, const Snapshot& snapshot,
                           std::span<const Replacement> replacements) {
  if (replacements.empty()) return fail(ErrorCode::kUsage, snapshot.path + ": no state to put in");
  Chosen chosen(snapshot);
  for (const Replacement& replacement : replacements) {
    Result<void> added = chosen.add(replacement);
    if (!added) return tl::make_unexpected(std::move(added).error().context(snapshot.path));
  }
  auto planned = plan(calls, snapshot, chosen);
  if (!planned) return tl::make_unexpected(std::move(planned).error().context(chosen.file()));
  return planned;
}

Result<sys::ReplacedFile> write_spliced(sys::Calls& calls, sys::Changes& changes,
                                        const SplicedFile& spliced, const std::string& kept_name) {
  return sys::splice_file(calls, changes, spliced.original, spliced.edits, kept_name);
}

}  // namespace vfsmend
