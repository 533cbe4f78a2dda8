// SPDX-License-Identifier: Apache-2.0
// QEMU migration files that hold what a search for virtio-fs devices meets: a header, some bytes
// that play guest memory, device sections, and the description of them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace vfsmend::test {

inline std::string big_endian32(std::uint64_t n) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(n >> shift & 0xff);
  return out;
}

inline std::string little_endian32(std::uint64_t n) {
  std::string out = big_endian32(n);
  return {out.rbegin(), out.rend()};
}

inline std::string counted(std::string_view text) {
  return static_cast<char>(text.size()) + std::string(text);
}

struct QemuDevice {
  std::string idstr = "0000:00:01.0/vhost-user-fs";
  std::string tag = "myfs";  // as the guest's driver left it in the configuration space
  std::string state{};
  std::size_t chunk = 1 << 20;  // bytes of a chunk
  std::uint32_t section_id = 38;
  bool has_backend = true;
};

struct QemuFile {
  std::string head_extra{};  // behind the machine's name
  std::string memory{};      // plays guest memory
  std::vector<QemuDevice> devices{};
  bool footers = true;
  bool vmdesc = true;
};

inline std::string qemu_fields(const QemuDevice& device) {
  std::string tag = device.tag;
  tag.resize(36);
  return std::string(350, '\x02') + big_endian32(40) + tag + little_endian32(1) + big_endian32(2) +
         std::string(300, '\0');
}

inline std::string qemu_chunks(const QemuDevice& device) {
  std::string out;
  for (std::size_t at = 0; at < device.state.size(); at += device.chunk) {
    const std::string piece = device.state.substr(at, device.chunk);
    out += big_endian32(piece.size()) + piece;
  }
  return out + big_endian32(0);
}

inline std::string qemu_section(const QemuDevice& device, bool footer) {
  std::string out = '\x04' + big_endian32(device.section_id) + counted(device.idstr) +
                    big_endian32(0) + big_endian32(0) + qemu_fields(device);
  if (device.has_backend) {
    out += '\x05' + counted("vhost-user-fs-backend") + big_endian32(0) + qemu_chunks(device);
  }
  return footer ? out + '\x7e' + big_endian32(device.section_id) : out;
}

inline std::string other_section(std::uint32_t id, std::string_view name, bool footer) {
  const std::string out = '\x04' + big_endian32(id) + counted(name) + big_endian32(0) +
                          big_endian32(1) + std::string(64, '\x11');
  return footer ? out + '\x7e' + big_endian32(id) : out;
}

inline std::string described(const QemuDevice& device) {
  std::string backend;
  if (device.has_backend) {
    backend = fmt::format(
        ", \"subsections\": [{{\"vmsd_name\": \"vhost-user-fs-backend\", "
        "\"version\": 0, \"fields\": [{{\"name\": \"back-end\", \"type\": "
        "\"virtio-fs back-end state\", \"size\": {}}}]}}]",
        qemu_chunks(device).size());
  }
  return fmt::format(
      "{{\"name\": \"{}\", \"instance_id\": 0, \"vmsd_name\": \"vhost-user-fs\", "
      "\"version\": 0, \"fields\": [{{\"name\": \"virtio\", \"type\": \"virtio\", "
      "\"size\": {}}}]{}}}",
      device.idstr, qemu_fields(device).size(), backend);
}

inline std::string qemu_head(const QemuFile& file) {
  return "QEVM" + big_endian32(3) + '\x07' + big_endian32(8) + "pc-q35-x" + file.head_extra;
}

// Everything behind guest memory.
inline std::string qemu_tail(const QemuFile& file) {
  std::string out = other_section(3, "timer", file.footers);
  std::string names = R"({"name": "timer", "instance_id": 0, "vmsd_name": "timer", "version": 2, )"
                      R"("fields": [{"name": "cpu_ticks_offset", "type": "int64", "size": 64}]})";
  for (const QemuDevice& device : file.devices) {
    out += qemu_section(device, file.footers);
    names += ", " + described(device);
  }
  out += other_section(90, "acpi_build", file.footers) + '\0';
  if (!file.vmdesc) return out;
  const std::string json = "{\"page_size\": 4096, \"devices\": [" + names + "]}";
  return out + '\x06' + big_endian32(json.size()) + json;
}

inline std::string qemu_file(const QemuFile& file) {
  return qemu_head(file) + '\x01' + big_endian32(2) + counted("ram") + big_endian32(0) +
         big_endian32(4) + file.memory + qemu_tail(file);
}

}  // namespace vfsmend::test
