// SPDX-License-Identifier: Apache-2.0
// Writes the seeds of the corpora: small inputs that reach every branch a fuzzer would be long in
// finding. Called by scripts/make-fuzz-corpus with the folder to write to.
#include <cstdio>
#include <filesystem>

#include "manifest/nodemap.h"
#include "support/manifest_builder.h"
#include "support/qemu_builder.h"
#include "support/temp_dir.h"
#include "support/vm_snapshot_builder.h"
#include "support/vm_stream_builder.h"

namespace vfsmend::test {
namespace {

const std::string kNeverMounted("\x01\x00\x02\x00\x00\x00\x00\x00\x00\x00", 10);
const std::string kStates = VFSMEND_SOURCE_DIR "/fixtures/samples/virtiofsd";

void write(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

// The states of real daemons, and two that CubeSandbox and the first format have.
void states(const std::filesystem::path& out) {
  for (const auto& entry : std::filesystem::directory_iterator(kStates)) {
    write(out / entry.path().stem(), read_text(entry.path()));
  }
  write(out / "v1-never-mounted", std::string("\0\0\2\0\0\0\0\0\0", 9));
  write(out / "cube-filter-inode",
        std::string("\0\3\1\4\0\0\2\3\1\1\x09hostdir-0\x0f/d/rw/hostdir-0\0\xac\2\2\1\2\x05"
                    "a.txt\0\0\xad\2\1\0\xac\2\0\x84\x80\4\1\0\0\0\1",
                    66));
  write(out / "trailing-bytes", kNeverMounted + "x");
  write(out / "count-bomb", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

void directories(const std::filesystem::path& out) {
  const std::string nul(1, '\0');
  const std::string cube_config = config_json({fs_json(
      "virtio_rw", "virtio_rw", R"({"shared_dir":"/d","cache":1,"allowed_dirs":["/a"]})")});
  const std::string never_mounted = json_numbers(as_bytes(kNeverMounted));
  write(out / "cube", cube_config + nul + cube_state_json({{.state = never_mounted}}));
  write(out / "cube-two-devices",
        cube_state_json({{.id = "virtio_ro", .state = "[]"}, {.state = "[1, 2 ,\n255]"}}));
  write(out / "cube-torn", cube_state_json({{.state = never_mounted}}).substr(0, 500));
  write(out / "cube-twice",
        cube_state_json({{.state = "[1],\"back_state\":[2]"}, {.state = "null"}}));
  const std::string ch_config = config_json({fs_json("_fs1", "myfs", "")});
  write(out / "cloud-hypervisor",
        ch_config + nul +
            ch_state_json({{.id = "_fs1",
                            .tag = "myfs",
                            .state = never_mounted,
                            .before = ",\"vu_num_queues\":2,\"vring_bases\":[4,5]"}}));
  write(out / "cloud-hypervisor-null",
        ch_state_json({{.id = "_fs1", .state = "null", .before = ",\"vring_bases\":null"}}));
  write(out / "config-only", cube_config + nul);
  write(out / "deep", std::string(200, '['));
}

void files(const std::filesystem::path& out) {
  QemuFile file;
  file.devices = {{.state = kNeverMounted, .chunk = 4}};
  write(out / "one-device", qemu_file(file));
  file.footers = false;
  write(out / "without-footers", qemu_file(file));
  file.vmdesc = false;
  write(out / "without-both", qemu_file(file));
  file.footers = true;
  write(out / "without-vmdesc", qemu_file(file));
  file.vmdesc = true;
  file.devices.push_back(
      {.idstr = "0000:00:02.0/vhost-user-fs", .tag = "", .section_id = 40, .has_backend = false});
  file.memory = "guest memory";
  write(out / "two-devices", qemu_file(file));
  write(out / "torn", qemu_file(file).substr(0, 900));
  file.head_extra = std::string(
                        "\x05\x1a"
                        "configuration/capabilities") +
                    big_endian32(1) + big_endian32(1) + counted("mapped-ram");
  write(out / "mapped-ram", qemu_file(file));
  std::string libvirt = "LibvirtQemudSave" + little_endian32(2) + little_endian32(100);
  libvirt.resize(200);
  write(out / "libvirt", libvirt);
  std::string qcow2 = "QFI\xfb" + big_endian32(3);
  qcow2.resize(60);
  qcow2 += big_endian32(1) + big_endian32(0) + big_endian32(72);
  qcow2 += std::string(12, '\0') + std::string("\0\1\0\2", 4) + std::string(16, '\0') +
           big_endian32(9) + big_endian32(0) + "1ab";
  write(out / "qcow2", qcow2);
  write(out / "libvirt-stream", libvirt_save(qemu_file(file)));
  Qcow2Image image;
  image.stream = qemu_file(file);
  write(out / "qcow2-stream", image.bytes());
  write(out / "raw", kNeverMounted);
}

void manifests(const std::filesystem::path& out) {
  const ByteVector small = encoded(small_manifest());
  write(out / "small", as_text(small));
  write(out / "empty", as_text(encoded({})));
  write(out / "tree", as_text(encoded(synthetic_tree(300))));
  Manifest one;
  one.sections = {small_section(false)};
  write(out / "one-section", as_text(encoded(one)));
  one.sections[0].entries = {};
  write(out / "no-entries", as_text(encoded(one)));
  write(out / "cut", as_text(small).substr(0, small.size() / 2));
  ByteVector damaged = small;
  damaged[kManifestHeader + 2 * kManifestEntry + 8] = 0xff;  // a raw size, behind a checksum
  write(out / "raw-size", as_text(damaged));
  damaged = small;
  damaged.back() = 0xff;
  write(out / "last-byte", as_text(damaged));
}

void policies(const std::filesystem::path& out) {
  const std::string nul(1, '\0');
  write(out / "all-actions",
        "# logs may grow\nC001 logs/*.log append-ok\nM001 etc/* warn\r\n* cache/* ignore\n"
        "I001 * must-match" + nul + "logs/a.log");
  write(out / "spaces", "\t M005  a b \t ignore \n\n" + nul + "a b");
  write(out / "sets", "M001 [a-c][!x-z][^0]*[]-] ignore\nM001 [a ignore\nM001 \\[\\* warn" + nul + "ad1]");
  write(out / "many-stars", "* *a*a*a*a*a*a*a*a*b ignore" + nul + std::string(200, 'a'));
  write(out / "open-sets", "* *[[[[[[[[[[b ignore" + nul + std::string(200, '['));
  write(out / "no-rule", "M001 ignore\n");
  write(out / "no-code", "X001 * ignore\n");
  write(out / "not-to-be-decided", "S001 * ignore\n");
  write(out / "no-action", "M001 * delete\n");
  write(out / "append-elsewhere", "M001 * append-ok\n");
}

void node_maps(const std::filesystem::path& out) {
  NodeMap map;
  map.mount_point = "/share";
  map.fs_type = "virtiofs";
  map.source = "fs";
  const std::string empty = node_map_text(map);
  write(out / "empty", empty);
  map.entries = {{1, 1, "", HolderKind::kCwd, 1, -1, -1, 2, false},
                 {7, 99, "a/b", HolderKind::kFd, 7, 3, 0100002, 1, false},
                 {7, 99, "a/b", HolderKind::kMap, 7, -1, -1, 1, false},
                 {UINT64_MAX, UINT64_MAX, "\xff", HolderKind::kExe, 8, -1, -1, 0, true}};
  map.warnings = {"/proc/1/fd: Permission denied"};
  const std::string full = node_map_text(map);
  write(out / "full", full);
  write(out / "cut", std::string_view(full).substr(0, full.size() / 2));
  write(out / "deep", std::string(5000, '['));
  std::string other = full;
  other.replace(other.find("\"7\""), 3, "\"0\"");
  write(out / "node-0", other);
  other = full;
  other.replace(other.find("a/b"), 3, "../");
  write(out / "dot-dot", other);
  other.replace(other.find("../"), 3, "\\u0000");
  write(out / "nul", other);
}

}  // namespace
}  // namespace vfsmend::test

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: make_fuzz_corpus FOLDER\n", stderr), 2;
  const std::filesystem::path folder = argv[1];
  vfsmend::test::states(folder / "fuzz_state");
  vfsmend::test::directories(folder / "fuzz_state_json");
  vfsmend::test::files(folder / "fuzz_qemu");
  vfsmend::test::manifests(folder / "fuzz_manifest");
  vfsmend::test::policies(folder / "fuzz_policy");
  vfsmend::test::node_maps(folder / "fuzz_nodemap");
  return 0;
}
