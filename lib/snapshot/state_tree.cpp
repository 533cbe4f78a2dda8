// SPDX-License-Identifier: Apache-2.0
#include "snapshot/state_tree.h"

#include <unordered_map>

#include "snapshot/json_walk.h"

namespace vfsmend {
namespace {

constexpr std::string_view kSectionSuffix = "-section";

// Levels of snapshots / device-manager / snapshots / <id> / snapshot_data / <section> / snapshot.
constexpr std::size_t kDeviceLevels = 4;
constexpr std::size_t kDataLevels = 5;
constexpr std::size_t kSectionLevels = 6;

class TreeVisitor final : public JsonVisitor {
 public:
  explicit TreeVisitor(StateTree& out) : out_(out) {}

  Want begin(const JsonPath& path, JsonKind kind) override {
    if (path.size() == 0 && kind != JsonKind::kObject) refuse("is not an object");
    note_marks(path, kind);
    if (is_above_devices(path)) forget_devices();
    if (!below_devices(path)) return Want::kWalk;
    if (path.size() == kDeviceLevels) {
      begin_device(path.key(kDeviceLevels - 1));
    } else if (current_ && holds_text(path)) {
      current_text().reset();
    }
    return Want::kWalk;
  }

  void scalar(const JsonPath& path, const JsonScalar& value) override {
    if (!current_ || !below_devices(path) || !is_text(path)) return;
    if (value.kind == JsonKind::kNull) return;
    if (value.kind != JsonKind::kString) return refuse("is not a string");
    current_text() = value.raw;
  }

 private:
  static bool is_above_devices(const JsonPath& path) {
    return path.is({"snapshots"}) || path.is({"snapshots", "device-manager"}) ||
           path.is({"snapshots", "device-manager", "snapshots"});
  }

  static bool below_devices(const JsonPath& path) {
    return path.size() >= kDeviceLevels &&
           path.starts_with({"snapshots", "device-manager", "snapshots", kAnyKey});
  }

  [[nodiscard]] std::optional<RawSpan>& current_text() { return out_.devices[*current_].text; }

  [[nodiscard]] bool is_own_section(std::string_view key) const {
    const std::string& id = out_.devices[*current_].id;
    return key.size() == id.size() + kSectionSuffix.size() && key.starts_with(id) &&
           key.ends_with(kSectionSuffix);
  }

  // The place of the text itself.
  [[nodiscard]] bool is_text(const JsonPath& path) const {
    if (path.size() <= kDataLevels || path.key(kDataLevels - 1) != "snapshot_data") return false;
    if (path.size() == kSectionLevels) return path.key(kDataLevels) == "state";
    return path.size() == kSectionLevels + 1 && is_own_section(path.key(kDataLevels)) &&
           path.key(kSectionLevels) == "snapshot";
  }

  // The place of the text, or of what it stands in: a second one makes the first void.
  [[nodiscard]] bool holds_text(const JsonPath& path) const {
    if (path.size() < kDataLevels || path.key(kDataLevels - 1) != "snapshot_data") return false;
    if (path.size() == kDataLevels) return true;
    return is_text(path) ||
           (path.size() == kSectionLevels && is_own_section(path.key(kDataLevels)));
  }

  void note_marks(const JsonPath& path, JsonKind kind) {
    if (path.size() == 0) return;
    const std::string_view key = path.key(path.size() - 1);
    const bool in_node = path.size() == 1 || path.is({"snapshots", kAnyKey, key}) ||
                         path.is({"snapshots", kAnyKey, "snapshots", kAnyKey, key});
    if (path.size() == 1 && key == "snapshots") out_.has_nodes = true;
    if (in_node && key == "id" && kind == JsonKind::kString) out_.cube_marks = true;
    if (path.size() < 2 || path.key(path.size() - 2) != "snapshot_data") return;
    if (key.ends_with(kSectionSuffix)) out_.cube_marks = true;
    if (key == "state") out_.cloud_hypervisor_marks = true;
  }

  void forget_devices() {
    out_.devices.clear();
    index_of_.clear();
    current_.reset();
  }

  void begin_device(std::string_view id) {
    const auto [it, is_new] = index_of_.try_emplace(std::string(id), out_.devices.size());
    if (is_new && out_.devices.size() == kMostDevices) {
      return refuse("is one device too many");
    }
    if (is_new) out_.devices.push_back({std::string(id), std::nullopt});
    current_ = it->second;
    current_text().reset();
  }

  StateTree& out_;
  std::unordered_map<std::string, std::size_t> index_of_;  // by id
  std::optional<std::size_t> current_;  // the device whose node is being read
};

}  // namespace

Result<void> parse_state_tree(JsonText& text, StateTree& out) {
  TreeVisitor visitor(out);
  return walk_json(text, visitor);
}

}  // namespace vfsmend
