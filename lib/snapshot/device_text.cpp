// SPDX-License-Identifier: Apache-2.0
#include "snapshot/device_text.h"

#include <algorithm>

#include "snapshot/json_walk.h"

namespace vfsmend {
namespace {

class DeviceVisitor final : public JsonVisitor {
 public:
  DeviceVisitor(std::string_view state_key, DeviceText& out) : state_key_(state_key), out_(out) {}

  Want begin(const JsonPath& path, JsonKind kind) override {
    if (path.size() == 0 && kind != JsonKind::kObject) refuse("is not an object");
    if (path.is({state_key_})) {
      out_.names_state = true;
      out_.state.reset();
      if (kind != JsonKind::kArray && kind != JsonKind::kNull) refuse("is not an array");
      return Want::kBytes;
    }
    if (path.is({"config"})) out_.tag.reset();
    if (path.is({"config", "tag"})) {
      out_.tag.reset();
      return Want::kBytes;
    }
    if (path.is({"vring_bases"})) out_.vring_bases.reset();
    return Want::kWalk;
  }

  void scalar(const JsonPath& path, const JsonScalar& value) override {
    if (path.size() != 1 || !value.whole) return;
    if (path.key(0) == "acked_features") out_.acked_features = value.number;
    if (path.key(0) == "vu_num_queues") out_.queues = value.number;
  }

  void bytes(const JsonPath& path, ByteArray&& array) override {
    if (path.size() == 1) {
      out_.state = std::move(array);
      return;
    }
    // Padded with zeros, to 36 bytes.
    const auto end = std::find(array.values.begin(), array.values.end(), std::uint8_t{0});
    out_.tag.emplace(array.values.begin(), end);
  }

  void end(const JsonPath& path, std::uint64_t count) override {
    if (path.is({"vring_bases"})) out_.vring_bases = count;
  }

 private:
  std::string_view state_key_;
  DeviceText& out_;
};

}  // namespace

Result<void> parse_device_text(JsonText& file, RawSpan text, std::string_view state_key,
                               DeviceText& out) {
  DeviceVisitor visitor(state_key, out);
  return walk_json_string(file, text, visitor);
}

}  // namespace vfsmend
