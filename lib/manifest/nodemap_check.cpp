// SPDX-License-Identifier: Apache-2.0
#include "manifest/nodemap_check.h"

#include <fmt/format.h>
#include <linux/openat2.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "sys/unique_fd.h"

namespace vfsmend {
namespace {

// Why a path cannot stand in a state, or be looked for; nullptr: it can.
const char* unfit(const std::string& path) {
  if (path.empty()) return "it has the path of the root, which is node 1";
  if (path.find('\0') != std::string::npos) return "a NUL in the path";
  if (!is_utf8(path)) return "a name that is not UTF-8: no state can hold it";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view part = std::string_view(path).substr(at, slash - at);
    if (part.empty() || part == "." || part == "..") return "no plain path below the share";
    at = slash + 1;
  }
  return nullptr;
}

class Checker {
 public:
  Checker(sys::Calls& calls, int share) : calls_(calls), share_(share) {}

  // Empty: the host has it there, and `mode` is set.
  std::string look(const std::string& path, std::uint64_t ino, std::uint32_t& mode) {
    if (const char* const why = unfit(path)) return why;
    open_how how{};
    how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
    const sys::UniqueFd fd(calls_.openat2(share_, path.c_str(), how));
    if (!fd.valid()) return errno_text(-fd.get());
    struct statx stat {};
    const int err =
        calls_.statx(fd.get(), "", AT_EMPTY_PATH, STATX_INO | STATX_TYPE | STATX_MODE, stat);
    if (err < 0) return errno_text(-err);
    if (stat.stx_ino != ino) {
      return fmt::format("another object: inode number {} on the host, {} in the guest",
                         stat.stx_ino, ino);
    }
    mode = stat.stx_mode;
    return {};
  }

  std::string look(const NodeMapEntry& entry, PlacedNode& placed) {
    placed.node = entry.node;
    placed.path = entry.path;
    if (!entry.deleted) return look(entry.path, entry.ino, placed.mode);
    placed.path += " (deleted)";  // a name may really end so
    if (look(placed.path, entry.ino, placed.mode).empty()) return "";
    // The number of a file that is unlinked may have been given to another of the same name.
    if (entry.nlink == 0) return "unlinked";
    placed.path = entry.path;
    return look(entry.path, entry.ino, placed.mode);
  }

 private:
  sys::Calls& calls_;
  int share_;
};

// Two nodes are two objects: of one path only one can be right, and which cannot be told.
void refuse_shared_paths(NodeMapCheck& out) {
  std::unordered_map<std::string, std::size_t> uses;
  for (const PlacedNode& node : out.placed) ++uses[node.path];
  for (const PlacedNode& node : out.placed) {
    if (uses[node.path] > 1) {
      out.refused.push_back({node.node, node.path, "another node has the same path"});
    }
  }
  std::erase_if(out.placed, [&](const PlacedNode& node) { return uses[node.path] > 1; });
  std::ranges::stable_sort(out.refused, {}, &RefusedNode::node);
}

}  // namespace

NodeMapCheck check_node_map(sys::Calls& calls, int share, const NodeMap& map) {
  std::map<NodeId, std::vector<const NodeMapEntry*>> by_node;
  for (const NodeMapEntry& entry : map.entries) {
    if (entry.node != kRootId) by_node[entry.node].push_back(&entry);
  }
  Checker checker(calls, share);
  NodeMapCheck out;
  for (const auto& [node, entries] : by_node) {
    RefusedNode refused{node, "", ""};
    bool placed = false;
    const NodeMapEntry* last = nullptr;
    for (const NodeMapEntry* const entry : entries) {
      const bool again = last && last->path == entry->path && last->ino == entry->ino &&
                         last->deleted == entry->deleted && last->nlink == entry->nlink;
      last = entry;
      if (again) continue;  // many processes hold one file by one name
      PlacedNode candidate;
      std::string reason = checker.look(*entry, candidate);
      if (reason.empty()) {
        out.placed.push_back(std::move(candidate));
        placed = true;
        break;
      }
      if (refused.reason.empty()) refused = {node, entry->path, std::move(reason)};
    }
    if (!placed) out.refused.push_back(std::move(refused));
  }
  refuse_shared_paths(out);
  return out;
}

}  // namespace vfsmend
