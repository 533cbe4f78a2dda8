// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "report/layout.h"
#include "report/redact.h"
#include "report/state_listing.h"
#include "state/node_index.h"
#include "verdict/rules.h"

namespace vfsmend {
namespace {

std::string line(std::string_view text, std::size_t indent, const TextStyle& style) {
  return std::string(indent, ' ') + wrap(text, style.width, indent + 2, indent) + '\n';
}

// Names from the share's root. Of a chain of any length only the last part is shown, or ten
// thousand directories in each other would print fifty million names.
class Names {
 public:
  Names(const State& state, bool redact) : state_(state), index_(state), redact_(redact) {}

  [[nodiscard]] std::string of(EntryIndex entry) const {
    constexpr std::size_t kSteps = 64;
    std::string out = name_of_entry(entry);
    for (std::size_t step = 0; location_as<Path>(state_.inodes[entry]) != nullptr; ++step) {
      const Slot parent = index_.parent_slot(entry);
      if (parent == kNoIndex) return "?/" + out;
      entry = index_.entries(parent).front();
      if (location_as<RootNode>(state_.inodes[entry]) != nullptr) return out;
      if (step == kSteps) return ".../" + out;
      out.insert(0, name_of_entry(entry) + '/');
    }
    return out;
  }
  [[nodiscard]] std::string of_id(NodeId id) const {
    const EntryIndex entry = index_.first_entry(id);
    return entry == kNoIndex ? "no such inode" : of(entry);
  }

 private:
  [[nodiscard]] std::string name_of_entry(EntryIndex entry) const {
    const Inode& inode = state_.inodes[entry];
    if (const auto* at = location_as<Path>(inode)) return shown(at->filename);
    if (const auto* at = location_as<FullPath>(inode)) return shown(at->filename);
    if (const auto* at = location_as<HandleLocation>(inode)) {
      return fmt::format("[handle {:#x} {} on mount {}]", static_cast<unsigned>(at->handle.type),
                         spaced_hex(at->handle.data), at->handle.mount_id);
    }
    return location_as<RootNode>(inode) != nullptr ? "[root]" : "[Invalid]";
  }
  [[nodiscard]] std::string shown(std::string_view name) const {
    return redact_ ? redact_path(name) : printable(name);
  }

  const State& state_;
  NodeIndex index_;
  bool redact_;
};

std::string kinds_text(const State& state) {
  constexpr std::array<std::string_view, 5> kNames = {"RootNode", "Path", "Invalid", "FullPath",
                                                      "FileHandle"};
  std::array<std::size_t, 5> counts{};
  for (const Inode& inode : state.inodes) ++counts[inode.location.index()];
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) parts.push_back(fmt::format("{} {}", counts[i], kNames[i]));
  }
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

std::string options_text(const NegotiatedOptions& options) {
  std::vector<std::string_view> on;
  if (options.writeback) on.emplace_back("writeback");
  if (options.announce_submounts) on.emplace_back("announce_submounts");
  if (options.posix_acl) on.emplace_back("posix_acl");
  if (options.sup_group_extension) on.emplace_back("sup_group_extension");
  return on.empty() ? "none" : fmt::format("{}", fmt::join(on, ", "));
}

std::string inodes_text(const State& state, const Names& names, const TextStyle& style) {
  std::string out = '\n' + paint("  inode   refs  name", Paint::kBold, style) + '\n';
  for (std::size_t i = 0; i < state.inodes.size(); ++i) {
    const Inode& inode = state.inodes[i];
    fmt::format_to(std::back_inserter(out), "{:>7} {:>6}  {}{}\n", inode.id, inode.refcount,
                   names.of(static_cast<EntryIndex>(i)),
                   inode.file_handle ? "  (has a file handle)" : "");
  }
  return out;
}

std::string handles_text(const State& state, const Names& names, const TextStyle& style) {
  std::string out = '\n' + paint(" handle  inode  flags, name", Paint::kBold, style) + '\n';
  for (const Handle& handle : state.handles) {
    fmt::format_to(std::back_inserter(out), "{:>7} {:>6}  {}, {}\n", handle.id, handle.inode,
                   flags_text(handle.flags), names.of_id(handle.inode));
  }
  return out;
}

std::string device_text(const ListedDevice& listed, bool redact, const TextStyle& style) {
  const SnapshotDevice& device = listed.device;
  std::string head = "device " + printable(device.id);
  if (device.tag && *device.tag != device.id) head += ", tag " + printable(*device.tag);
  head += device.state ? ": " + counted(device.state->size(), "byte") : ": no state";
  if (listed.decoded) head += fmt::format(" of {}", name_of(listed.decoded->dialect));
  std::string out = '\n' + line(head, 0, style);
  for (const std::string& note : device.notes) out += line("note: " + printable(note), 2, style);
  if (!listed.decoded) return out;
  const State& state = listed.decoded->state;
  const std::size_t rest = device.state->size() - listed.decoded->consumed;
  if (rest != 0) out += line(counted(rest, "byte") + " behind the end", 2, style);
  const std::string inodes = counted(state.inodes.size(), "inode") + kinds_text(state);
  const std::string handles = counted(state.handles.size(), "handle");
  out += line(fmt::format("{}, the next is {}", inodes, state.next_inode), 2, style);
  out += line(fmt::format("{}, the next is {}", handles, state.next_handle), 2, style);
  out += line("options: " + options_text(state.options), 2, style);
  for (const auto& [id, where] : state.mount_paths) {
    out += line(fmt::format("mount {} was at {}", id,
                            redact ? redact_path(where) : printable(where)), 2, style);
  }
  if (state.inodes.size() > kMaxInodes) return out + line("too many inodes to list", 2, style);
  const Names names(state, redact);
  if (!state.inodes.empty()) out += inodes_text(state, names, style);
  if (!state.handles.empty()) out += handles_text(state, names, style);
  return out;
}

}  // namespace

std::string state_text(const StateListing& listing, const TextStyle& style) {
  const auto path = [&](const std::string& name) {
    return listing.redact_paths ? redact_path(name) : printable(name);
  };
  std::string head = path(listing.snapshot_path);
  if (listing.container) head += fmt::format(" ({})", name_of(*listing.container));
  if (!listing.trace_id.empty()) head += fmt::format(", trace {}", printable(listing.trace_id));
  std::string out = line(head, 0, style);
  for (const ListedDevice& device : listing.devices) {
    out += device_text(device, listing.redact_paths, style);
  }
  if (listing.devices.empty() && listing.reason.empty()) {
    out += line("no virtio-fs device in it", 0, style);
  }
  if (!listing.not_read.empty()) out += '\n';
  for (const std::string& file : listing.not_read) out += line("not read: " + path(file), 0, style);
  if (!listing.reason.empty()) {
    out += '\n' + line("could not be read: " + printable(listing.reason), 0, style);
  }
  return out;
}

}  // namespace vfsmend
