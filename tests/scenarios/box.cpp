// SPDX-License-Identifier: Apache-2.0
#include "box.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "support/qemu_builder.h"
#include "support/temp_dir.h"
#include "support/vm_snapshot_builder.h"

namespace vfsmend::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kQemuChunk = 65536;
constexpr time_t kLongAgo = 1'000'000'000;

std::string chunks_of(std::string_view state) {
  std::string out;
  for (std::size_t at = 0; at < state.size(); at += kQemuChunk) {
    const std::string_view piece = state.substr(at, kQemuChunk);
    out += big_endian32(piece.size()) + std::string(piece);
  }
  return out + big_endian32(0);
}

std::size_t number_at(const std::string& stream, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<std::uint8_t>(stream.at(i));
  return value;
}

// Another chunk list, its size in the description, and the description's own length.
std::string qemu_with(const std::string& stream, std::string_view state) {
  const std::size_t description = stream.rfind("{\"configuration\"");
  const std::string mark = std::string("\x05\x15vhost-user-fs-backend") + std::string(4, '\0');
  const std::size_t begin = stream.rfind(mark, description) + mark.size();
  std::size_t end = begin;
  while (const std::size_t size = number_at(stream, end)) end += 4 + size;
  end += 4;
  const std::string chunks = chunks_of(state);
  std::string text = stream.substr(description);
  const std::string field = "\"type\": \"virtio-fs back-end state\", \"size\": ";
  const std::size_t digits = text.find(field) + field.size();
  text.replace(digits, text.find('}', digits) - digits, std::to_string(chunks.size()));
  return stream.substr(0, begin) + chunks + stream.substr(end, description - 4 - end) +
         big_endian32(text.size()) + text;
}

void write_file(const std::string& path, std::string_view bytes) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  const timespec times[2] = {{kLongAgo, 5}, {kLongAgo, 123456789}};
  EXPECT_EQ(::chmod(path.c_str(), 0640), 0);
  EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

}  // namespace

std::string name_of(BoxKind kind) {
  switch (kind) {
    case BoxKind::kRaw: return "Raw";
    case BoxKind::kCubeFlat: return "CubeFlat";
    case BoxKind::kCubePackage: return "CubePackage";
    case BoxKind::kCloudHypervisor: return "CloudHypervisor";
    case BoxKind::kQemu: return "Qemu";
  }
  return "";
}

Box::Box(BoxKind kind, std::string folder, std::string backend)
    : kind_(kind), folder_(std::move(folder)), backend_(std::move(backend)) {
  fs::create_directories(folder_);
  if (kind_ != BoxKind::kQemu) return;
  const std::string unpacked = folder_ + ".unpacked";
  const std::string command = fmt::format("gzip -dc '{}/fixtures/qemu/unstarted-guest.qemustate.gz' > '{}'",
                                          VFSMEND_SOURCE_DIR, unpacked);
  EXPECT_EQ(std::system(command.c_str()), 0);  // NOLINT(concurrency-mt-unsafe)
  stream_ = read_text(unpacked);
}

std::string Box::path() const {
  switch (kind_) {
    case BoxKind::kRaw: return folder_ + "/state.bin";
    case BoxKind::kQemu: return folder_ + "/vm.qemustate";
    default: return folder_ + "/snapshot-17";
  }
}

std::string Box::directory() const {
  return kind_ == BoxKind::kCubePackage ? path() + "/snapshot" : path();
}

std::string Box::file() const {
  const bool one_file = kind_ == BoxKind::kRaw || kind_ == BoxKind::kQemu;
  return one_file ? path() : directory() + "/state.json";
}

std::string Box::bytes_with(Bytes state) const {
  const DeviceSpec device{"virtio_rw", "virtio_rw", json_numbers(state)};
  const DeviceSpec with_bases{"_fs1", "share", json_numbers(state), ",\"vring_bases\":[0,0]"};
  switch (kind_) {
    case BoxKind::kRaw: return std::string(as_text(state));
    case BoxKind::kQemu: return qemu_with(stream_, as_text(state));
    case BoxKind::kCloudHypervisor: return ch_state_json({with_bases});
    default: return cube_state_json({device});
  }
}

void Box::write(Bytes state) const {
  if (is_cube(kind_)) {
    write_file(directory() + "/config.json", config_json({fs_json("virtio_rw", "virtio_rw", backend_)}));
  } else if (kind_ == BoxKind::kCloudHypervisor) {
    write_file(directory() + "/config.json", config_json({fs_json("_fs1", "share", "")}));
  }
  if (kind_ == BoxKind::kCubePackage) {
    write_file(path() + "/metadata.json", "{\"version\":1}");
    write_file(path() + "/sandbox_spec.json", "{\"annotations\":{},\"volumes\":[]}");
    write_file(path() + "/catalog.json", "{\"snapshots\":[]}");
  }
  if (file() != path()) write_file(directory() + "/memory-ranges", std::string(4096, '\x07'));
  write_file(file(), bytes_with(state));
}

std::map<std::string, Box::Entry> Box::content() const {
  std::map<std::string, Entry> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    struct stat s {};
    EXPECT_EQ(::lstat(entry.path().c_str(), &s), 0);
    if (!S_ISREG(s.st_mode)) continue;
    out[entry.path()] = {read_text(entry.path()), fmt::format("{:o} {} {}.{:09}", s.st_mode, s.st_uid,
                                                              s.st_mtim.tv_sec, s.st_mtim.tv_nsec)};
  }
  return out;
}

}  // namespace vfsmend::test
