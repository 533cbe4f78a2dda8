// SPDX-License-Identifier: Apache-2.0
// A snapshot on disk, whatever program wrote it: which virtio-fs devices it holds, the bytes of
// their state, and where these bytes lie, so that a repair can put others in their place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "state/dialect.h"
#include "sys/read_file.h"

namespace vfsmend {

enum class ContainerKind { kCube, kCloudHypervisor, kQemu, kLibvirt, kRaw };

// "cube", "cloud-hypervisor", "qemu", "libvirt", "raw": the names in reports.
[[nodiscard]] std::string_view name_of(ContainerKind kind);

// `backendfs_config` of a CubeSandbox device, after the overlay of the resume (platform facts:
// docs/formats.md). Defaults are CubeSandbox's.
struct CubeBackend {
  std::string shared_dir;
  std::optional<std::vector<std::string>> allowed_dirs;
  bool posix_acl = false;
  bool announce_submounts = false;
  bool writeback = false;
  bool allow_direct_io = false;
  bool read_only = true;
  bool remap_filter = false;
  int cache = 2;  // 0 auto, 1 always, 2 never, 3 none
  std::uint64_t rlimit_nofile = 0;
  std::uint64_t thread_pool_size = 0;
};

// Where a state lies in its file, for the splice.
struct StateSpan {
  std::string file;         // path of the file that holds it
  std::uint64_t begin = 0;  // first byte of the array, of the chunk list or of the raw state
  std::uint64_t end = 0;    // one past its last byte
};

struct SnapshotDevice {
  std::string id;                  // "virtio_rw", "_fs1", "0000:00:01.0", "raw"
  std::optional<std::string> tag;  // what the guest mounts; nothing where it is not recorded
  // The state's bytes. Nothing where the container has no state for the device (the guest's
  // session is lost then); an empty vector where it has an empty one.
  std::optional<ByteVector> state;
  StateSpan span;                         // meaningless without a state
  std::optional<CubeBackend> cube;        // cube only, where config.json has it
  std::vector<std::string> notes;         // what the user should know: "acked_features lost bit 26"
};

// A file that was read, as it was before the first byte of it was.
struct ReadFile {
  std::string path;
  sys::FileStamp stamp;
};

struct Snapshot {
  ContainerKind kind = ContainerKind::kRaw;
  std::string path;  // as the user gave it
  std::vector<SnapshotDevice> devices;
  std::vector<std::string> not_read;  // files beside it that were recognised and not looked into
  std::vector<std::string> notes;     // of the snapshot as a whole
  std::vector<ReadFile> files;        // see changed_files (open.h)
};

}  // namespace vfsmend
