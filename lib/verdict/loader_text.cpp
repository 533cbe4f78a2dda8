// SPDX-License-Identifier: Apache-2.0
#include "verdict/loader_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/text.h"
#include "verdict/mount_paths.h"

namespace vfsmend {
namespace {

constexpr std::size_t kLongestPath = 4095;
constexpr std::size_t kLongestNamePath = 16384;

std::string_view name_of_entry(const Inode& inode, const Destination& destination) {
  if (const auto* path = location_as<Path>(inode)) return effective_name(*path, destination);
  if (const auto* full = location_as<FullPath>(inode)) return full->filename;
  return {};
}

std::string joined(std::string_view dir, std::string_view name) {
  return fmt::format("{}{}{}", dir, dir.ends_with('/') ? "" : "/", name);
}

}  // namespace

LoaderError custom_error(std::string_view kind, std::string text) {
  std::string debug = fmt::format("Custom {{ kind: {}, error: {} }}", kind, rust_debug(text));
  return {std::move(text), std::move(debug)};
}

LoaderError os_error(int err) {
  return {os_error_text(err), fmt::format("Os {{ code: {}, kind: {}, message: {} }}", err,
                                          error_kind(err), rust_debug(errno_text(err)))};
}

LoaderError decode_error(postcard::DecodeError error) {
  return {std::string(postcard::text_of(error)),
          fmt::format("Custom {{ kind: Other, error: {} }}", postcard::variant_of(error))};
}

std::string_view error_kind(int err) {
  switch (err) {
    case ENOENT: return "NotFound";
    case EPERM:
    case EACCES: return "PermissionDenied";
    case EEXIST: return "AlreadyExists";
    case ENOTDIR: return "NotADirectory";
    case EISDIR: return "IsADirectory";
    case EROFS: return "ReadOnlyFilesystem";
    case ELOOP: return "FilesystemLoop";
    case ESTALE: return "StaleNetworkFileHandle";
    case ENAMETOOLONG: return "InvalidFilename";
    case EINVAL: return "InvalidInput";
    case ETXTBSY: return "ExecutableFileBusy";
    case ENOSYS: return "Unsupported";
    case ENOMEM: return "OutOfMemory";
    case EINTR: return "Interrupted";
    case ETIMEDOUT: return "TimedOut";
    default: return "Uncategorized";
  }
}

std::string LoaderTexts::loader_view(std::string_view real) const {
  if (!in_.destination.share_is_root() || !is_below(real, in_.share.real_path)) {
    return std::string(real);
  }
  if (in_.share.real_path == "/") return std::string(real);
  const std::string_view below = real.substr(in_.share.real_path.size());
  return below.empty() ? "/" : std::string(below);
}

// By readlink where a name led somewhere else than it says, by the names where not.
std::string LoaderTexts::raw_path(EntryIndex entry) const {
  std::vector<EntryIndex> names;
  while (walk_.nodes[entry].text == kNoIndex && in_.order.parent_entry[entry] != kNoIndex) {
    names.push_back(entry);
    entry = in_.order.parent_entry[entry];
  }
  std::string path;
  if (walk_.nodes[entry].text != kNoIndex) path = loader_view(walk_.texts[walk_.nodes[entry].text]);
  for (auto e = names.rbegin(); e != names.rend(); ++e) {
    if (!path.ends_with('/')) path += '/';
    path += name_of_entry(in_.state.inodes[*e], in_.destination);
  }
  return path;
}

std::optional<std::string> LoaderTexts::path_of(EntryIndex entry) const {
  const std::string path = raw_path(entry);
  if (path.empty() || path.size() > kLongestPath || path.ends_with(" (deleted)")) {
    return std::nullopt;
  }
  const Node& node = walk_.nodes[entry];
  if (in_.destination.share_is_root() && node.zone == Zone::kOutside) return std::nullopt;
  return utf8_lossy(path);
}

std::string LoaderTexts::name_path(EntryIndex entry) const {
  std::vector<std::string_view> parts;
  std::size_t budget = kLongestNamePath;  // also ends a circle of parents
  while (inode_at(entry).id != kRootId) {
    const auto* path = location_as<Path>(inode_at(entry));
    const auto* full = location_as<FullPath>(inode_at(entry));
    const Slot parent = in_.index.parent_slot(entry);
    if ((!path && !full) || parent == kNoIndex) return {};
    parts.push_back(path ? path->filename : full->filename);
    if (parts.back().size() >= budget) return {};
    budget -= parts.back().size() + 1;
    if (full) break;
    entry = in_.index.entries(parent).front();
  }
  return fmt::format("{}", fmt::join(parts.rbegin(), parts.rend(), "/"));
}

LoaderError LoaderTexts::opening_failed(EntryIndex entry) const {
  const Node& node = walk_.nodes[entry];
  const EntryIndex parent = in_.order.parent_entry[entry];
  // The loader prints the number of its descriptor where it cannot print a path: not knowable.
  const std::string dir = path_of(parent).value_or("{fd:N}");
  const auto name = name_of_entry(in_.state.inodes[entry], in_.destination);
  if (node.fate == Fate::kNulInName) {
    return custom_error("InvalidInput",
                        fmt::format("Opening {}: nul byte found in provided data at position: {}",
                                    joined(dir, name), node.position));
  }
  return custom_error(error_kind(node.err), fmt::format("Opening {}: {}", joined(dir, name),
                                                        os_error_text(node.err)));
}

LoaderError LoaderTexts::handle_differs(EntryIndex entry) const {
  const Inode& inode = in_.state.inodes[entry];
  const auto at = std::ranges::lower_bound(walk_.mismatches, entry, {}, &HandleMismatch::entry);
  VFSMEND_CHECK(at != walk_.mismatches.end() && at->entry == entry && inode.file_handle);
  const auto hex = [](Bytes bytes) {
    return bytes.empty() ? std::string() : " " + spaced_hex(bytes);
  };
  const std::string what =
      at->found_type != inode.file_handle->type
          ? fmt::format("File handle type differs: 0x{:x} != 0x{:x}",
                        static_cast<std::uint32_t>(at->found_type),
                        static_cast<std::uint32_t>(inode.file_handle->type))
          : fmt::format("File handle differs:{} !={}", hex(at->found),
                        hex(inode.file_handle->data));
  return custom_error("Other",
                      fmt::format("Inode {} is not the same inode as in the migration source: {}",
                                  inode.id, what));
}

// What any use of a stub gives. CubeSandbox hands the stub's own error on.
LoaderError LoaderTexts::stub_use(EntryIndex stub) const {
  // Depth-first would nest as deep as the tree: collect the chain, then build it inside out.
  std::size_t levels = 1;
  while (walk_.nodes[stub].fate == Fate::kParentStub) {
    stub = in_.order.parent_entry[stub];
    ++levels;
  }
  LoaderError cause = reason(stub);
  if (in_.destination.is_cube()) return cause;
  std::string text;
  for (; levels > 0; --levels) {
    text += "Inode is invalid because of an error during the preceding migration, which was: ";
  }
  return custom_error("Other", text + cause.text);
}

LoaderError LoaderTexts::reason(EntryIndex entry) const {
  const Inode& inode = in_.state.inodes[entry];
  const Node& node = walk_.nodes[entry];
  switch (node.fate) {
    case Fate::kLost:
      return custom_error("NotFound",
                          fmt::format("Migration source has lost inode {}", inode.id));
    case Fate::kOpenFailed:
    case Fate::kNulInName: return opening_failed(entry);
    case Fate::kParentStub: return stub_use(in_.order.parent_entry[entry]);
    case Fate::kHandleDiffers: return handle_differs(entry);
    case Fate::kHandleCheckFailed: return os_error(node.err);
    case Fate::kUnknownMount:
      return custom_error("Other",
                          fmt::format("Unknown mount ID {}",
                                      std::get<HandleLocation>(inode.location).handle.mount_id));
    case Fate::kHandleTooLong: return custom_error("Other", "File handle too long");
    case Fate::kHandleOpenFailed:
      return custom_error(error_kind(node.err),
                          "Opening file handle: " + os_error_text(node.err));
    case Fate::kNotTried:
    case Fate::kFound: break;
  }
  return {};
}

LoaderError LoaderTexts::abort_reason(EntryIndex entry) const {
  const LoaderError bare = reason(entry);
  std::string_view kind = "Other";
  const std::string_view debug = bare.debug;
  if (const auto at = debug.find("kind: "); at != std::string_view::npos) {
    kind = debug.substr(at + 6, debug.find(',', at) - at - 6);
  }
  return custom_error(kind, fmt::format("Inode {}: {}", in_.state.inodes[entry].id, bare.text));
}

LoaderError LoaderTexts::handle_reason(std::size_t position) const {
  const Handle& handle = in_.state.handles[position];
  const OpenHandle& result = walk_.handles[position];
  const EntryIndex entry = in_.order.in_store[in_.index.slot_of(handle.inode)];
  const LoaderError cause = result.stub ? stub_use(entry) : os_error(result.err);
  std::string where;
  if (!result.stub) {
    const auto path = path_of(entry);
    // A node other than the root cannot be at "/": the loader takes it for one outside.
    if (path && (*path != "/" || handle.inode == kRootId)) where = fmt::format(" ({})", *path);
  }
  const std::string_view kind = result.stub ? "Other" : error_kind(result.err);
  return custom_error(kind, fmt::format("Opening inode {}{} as handle {}: {}", handle.inode, where,
                                        handle.id, cause.text));
}

}  // namespace vfsmend
