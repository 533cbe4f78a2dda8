// SPDX-License-Identifier: Apache-2.0
// config.json and state.json as CubeSandbox and Cloud Hypervisor write them: compact, the
// devices' own JSON inside strings, other devices beside them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace vfsmend::test {

inline std::string json_numbers(Bytes bytes) {
  return fmt::format("[{}]", fmt::join(bytes.begin(), bytes.end(), ","));
}

// A string as serde_json writes it, with its quotes.
inline std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

struct DeviceSpec {
  std::string id = "virtio_rw";
  std::string tag = "virtio_rw";
  // The array of the state as it stands in the device's text: "[1,2]", "null"; "" for no key.
  std::string state = "[]";
  std::string before{};  // further keys in front of the state: "\"vring_bases\":[0,0],"
};

inline std::string device_text(const DeviceSpec& spec, std::string_view state_key) {
  ByteVector tag(36);
  std::copy(spec.tag.begin(), spec.tag.end(), tag.begin());
  const std::string state =
      spec.state.empty() ? "" : fmt::format(",\"{}\":{}", state_key, spec.state);
  return fmt::format(
      "{{\"avail_features\":18446744073709551615,\"acked_features\":5704253440,"
      "\"config\":{{\"tag\":{},\"num_request_queues\":1}}{}{}}}",
      json_numbers(tag), spec.before, state);
}

inline std::string cube_node(std::string_view id, std::string_view children,
                             std::string_view text) {
  const std::string section = std::string(id) + "-section";
  const std::string data =
      text.empty() ? ""
                   : fmt::format("{}:{{\"id\":{},\"snapshot\":{}}}", json_string(section),
                                 json_string(section), json_string(text));
  return fmt::format("{{\"id\":{},\"snapshots\":{{{}}},\"snapshot_data\":{{{}}}}}", json_string(id),
                     children, data);
}

inline std::string cube_state_json(const std::vector<DeviceSpec>& devices) {
  std::string nodes =
      "\"_disk0\":" + cube_node("_disk0", "", R"({"disk_path":"/d","paused":true})");
  for (const DeviceSpec& spec : devices) {
    nodes += fmt::format(",{}:{}", json_string(spec.id),
                         cube_node(spec.id, "", device_text(spec, "back_state")));
  }
  const std::string manager = cube_node("device-manager", nodes, R"({"device_tree":{}})");
  const std::string memory = cube_node("memory-manager", "", R"({"regions":[1,2,{"a":"b"}]})");
  const std::string root = cube_node(
      "vm", fmt::format("\"memory-manager\":{},\"device-manager\":{}", memory, manager), "");
  return root.substr(0, root.size() - 1) + ",\"metadata\":{\"snapshot_type\":\"full\"}}";
}

inline std::string ch_node(std::string_view children, std::string_view text) {
  return fmt::format("{{\"snapshots\":{{{}}},\"snapshot_data\":{}}}", children,
                     text.empty() ? "null" : fmt::format("{{\"state\":{}}}", json_string(text)));
}

inline std::string ch_state_json(const std::vector<DeviceSpec>& devices) {
  std::string nodes = "\"_disk0\":" + ch_node("", R"({"disk_path":"/d","paused":true})");
  for (const DeviceSpec& spec : devices) {
    nodes += fmt::format(",{}:{}", json_string(spec.id),
                         ch_node("", device_text(spec, "backend_state")));
  }
  return ch_node(
      fmt::format("\"memory-manager\":{},\"device-manager\":{}", ch_node("", R"({"regions":[]})"),
                  ch_node(nodes, R"({"device_tree":{}})")),
      "");
}

// One element of config.json's "fs". `backend` is the value of backendfs_config; "" for no key.
inline std::string fs_json(std::string_view id, std::string_view tag, std::string_view backend) {
  return fmt::format(
      "{{\"tag\":{},\"socket\":\"/run/s\",\"num_queues\":1,\"queue_size\":1024,"
      "\"id\":{},\"pci_segment\":0{}{}}}",
      json_string(tag), json_string(id), backend.empty() ? "" : ",\"backendfs_config\":", backend);
}

inline std::string config_json(const std::vector<std::string>& fs) {
  return fmt::format(
      "{{\"cpus\":{{\"boot_vcpus\":2}},\"fs\":[{}],\"rng\":{{\"src\":\"/dev/urandom\"}}}}",
      fmt::join(fs, ","));
}

}  // namespace vfsmend::test
