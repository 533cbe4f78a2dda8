// SPDX-License-Identifier: Apache-2.0
#include "snapshot/vm_config.h"

#include <fmt/core.h>

#include <algorithm>

#include "snapshot/json_walk.h"

namespace vfsmend {
namespace {

bool* flag_named(CubeBackend& backend, std::string_view key) {
  if (key == "posix_acl") return &backend.posix_acl;
  if (key == "announce_submounts") return &backend.announce_submounts;
  if (key == "writeback") return &backend.writeback;
  if (key == "allow_direct_io") return &backend.allow_direct_io;
  if (key == "read_only") return &backend.read_only;
  if (key == "remap_filter") return &backend.remap_filter;
  return nullptr;
}

std::uint64_t* number_named(CubeBackend& backend, std::string_view key) {
  if (key == "rlimit_nofile") return &backend.rlimit_nofile;
  if (key == "thread_pool_size") return &backend.thread_pool_size;
  return nullptr;
}

// Reads a list of file systems that stands at `level` keys below the root: {"fs": [..]} at 1, the
// bare list of an annotation at 0.
class FsListVisitor final : public JsonVisitor {
 public:
  FsListVisitor(std::size_t level, std::vector<ConfiguredFs>& out) : level_(level), out_(out) {}

  Want begin(const JsonPath& path, JsonKind kind) override {
    if (!in_list(path)) {
      if (path.size() == 0) wants(kind, level_ == 0 ? JsonKind::kArray : JsonKind::kObject);
      return Want::kWalk;
    }
    const std::size_t below = path.size() - level_;
    if (below == 0) {  // the list itself, perhaps a second time
      out_.clear();
      if (level_ == 0 || kind != JsonKind::kNull) wants(kind, JsonKind::kArray);
    } else if (below == 1) {
      wants(kind, JsonKind::kObject);
      if (out_.size() == kMostFileSystems) return refuse("are too many"), Want::kWalk;
      out_.emplace_back();
    } else {
      begin_field(path, below, kind);
    }
    return Want::kWalk;
  }

  void scalar(const JsonPath& path, const JsonScalar& value) override {
    if (!in_list(path) || value.kind == JsonKind::kNull || out_.empty()) return;
    ConfiguredFs& fs = out_.back();
    const std::size_t below = path.size() - level_;
    if (below == 2 && path.key(level_ + 1) == "id") take_text(value, fs.id);
    if (below == 2 && path.key(level_ + 1) == "tag") take_text(value, fs.tag.emplace());
    if (below >= 3 && fs.backend && path.key(level_ + 1) == "backendfs_config") {
      backend_scalar(path, below, value, *fs.backend);
    }
  }

 private:
  [[nodiscard]] bool in_list(const JsonPath& path) const {
    return path.size() >= level_ && (level_ == 0 || path.key(0) == "fs");
  }

  void wants(JsonKind found, JsonKind wanted) {
    if (found == wanted) return;
    refuse(wanted == JsonKind::kArray ? "is not an array" : "is not an object");
  }

  void begin_field(const JsonPath& path, std::size_t below, JsonKind kind) {
    ConfiguredFs& fs = out_.back();
    const std::string_view key = path.key(level_ + 1);
    if (below == 2 && key == "id") fs.id.clear();
    if (below == 2 && key == "tag") fs.tag.reset();
    if (key != "backendfs_config") return;
    if (below == 2) {
      fs.backend.reset();
      if (kind == JsonKind::kNull) return;
      wants(kind, JsonKind::kObject);
      fs.backend.emplace();
    } else if (below == 3 && path.key(level_ + 2) == "allowed_dirs") {
      fs.backend->allowed_dirs.reset();
      if (kind == JsonKind::kNull) return;
      wants(kind, JsonKind::kArray);
      fs.backend->allowed_dirs.emplace();
    }
  }

  void backend_scalar(const JsonPath& path, std::size_t below, const JsonScalar& value,
                      CubeBackend& backend) {
    const std::string_view key = path.key(level_ + 2);
    if (below == 4 && key == "allowed_dirs" && backend.allowed_dirs) {
      return take_text(value, backend.allowed_dirs->emplace_back());
    }
    if (below != 3) return;
    if (key == "shared_dir") return take_text(value, backend.shared_dir);
    if (bool* flag = flag_named(backend, key)) {
      if (value.kind != JsonKind::kBool) return refuse("is not true or false");
      *flag = value.boolean;
    } else if (std::uint64_t* number = number_named(backend, key)) {
      if (!value.whole) return refuse("is not a whole number");
      *number = value.number;
    } else if (key == "cache") {
      if (!value.whole || value.number > 3) return refuse("is not 0, 1, 2 or 3");
      backend.cache = static_cast<int>(value.number);
    }
  }

  void take_text(const JsonScalar& value, std::string& out) {
    if (value.kind != JsonKind::kString) return refuse("is not a string");
    if (value.is_long) return refuse("is longer than a path may be");
    out = value.text;
  }

  std::size_t level_;
  std::vector<ConfiguredFs>& out_;
};

}  // namespace

Result<void> parse_vm_config(JsonText& text, std::vector<ConfiguredFs>& out) {
  FsListVisitor visitor(1, out);
  return walk_json(text, visitor);
}

Result<std::vector<ConfiguredFs>> parse_cube_overlay(JsonText& text) {
  std::vector<ConfiguredFs> out;
  FsListVisitor visitor(0, out);
  VFSMEND_TRY(walk_json(text, visitor));
  return out;
}

std::vector<std::string> apply_cube_overlay(const std::vector<ConfiguredFs>& overlay,
                                            std::vector<ConfiguredFs>& config) {
  std::vector<std::string> unmet;
  for (const ConfiguredFs& from : overlay) {
    const auto to = std::find_if(config.begin(), config.end(),
                                 [&](const ConfiguredFs& fs) { return fs.id == from.id; });
    if (to == config.end() || !to->backend) {
      unmet.push_back(from.id);
    } else if (from.backend) {
      to->backend->shared_dir = from.backend->shared_dir;
      to->backend->cache = from.backend->cache;
      if (from.backend->allowed_dirs) to->backend->allowed_dirs = from.backend->allowed_dirs;
    }
  }
  return unmet;
}

}  // namespace vfsmend
