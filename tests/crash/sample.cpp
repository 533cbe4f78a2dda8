// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "repair/journal.h"
#include "state/codec.h"
#include "support/qemu_builder.h"
#include "support/state_builder.h"
#include "support/vm_snapshot_builder.h"

namespace vfsmend::test {
namespace {

constexpr std::int64_t kLongAgo = 1'600'000'000'123'456'789;
void silent(std::string_view) {}

// A file that is there, one that is gone, and ids that would be given out twice.
ByteVector damaged_state(Dialect dialect) {
  State state = state_of({root(4), at(2, 1, "there"), at(3, 1, "gone")});
  state.next_inode = 2;
  return encode(state, dialect);
}

std::string text_of(const ByteVector& bytes) { return std::string(as_text(bytes)); }

// FILE.xxxxxx, which a cut left on its way to be FILE.
bool is_draft(const std::string& path) {
  const std::size_t digits = path.size() - 6;
  return path.size() > 7 && path[digits - 1] == '.' &&
         path.find_first_not_of("0123456789abcdef", digits) == std::string::npos;
}

std::int64_t mtime_of(const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return 0;
  return st.st_mtim.tv_sec * std::int64_t{1'000'000'000} + st.st_mtim.tv_nsec;
}

}  // namespace

std::string name_of(Kind kind) {
  switch (kind) {
    case Kind::kRaw: return "raw";
    case Kind::kCube: return "cube";
    case Kind::kCloudHypervisor: return "cloud_hypervisor";
    case Kind::kQemu: return "qemu";
  }
  return "";
}

Sample::Sample(Kind kind) : folder_(dir_ / "snapshot") {
  std::filesystem::create_directory(folder_);
  std::filesystem::create_directory(dir_ / "share");
  dir_.write("share/there", "content");
  build(kind);
  Disk disk = read_disk(folder_);
  DiskFile& file = disk.files.at(disk.names.at(file_));
  file.mode = 0640;
  file.owner = 1234;
  file.group = 4321;
  file.mtime_ns = kLongAgo;
  original_ = file;
  put_disk(disk, folder_);
  start_ = read_disk(folder_);
  check_.snapshot_path = snapshot_;
  const Repaired done = repair();
  if (!done.resumes) throw std::runtime_error("the sample is not mended: " + done.reason);
  repaired_ = read_text(file_);
  put_disk(start_, folder_);
}

void Sample::build(Kind kind) {
  const std::string share = dir_ / "share";
  snapshot_ = folder_;
  switch (kind) {
    case Kind::kRaw:
      snapshot_ = file_ = dir_.write("snapshot/state", damaged_state(Dialect::kV2));
      check_.shares = {{"", share}};
      break;
    case Kind::kCube: {
      const std::string numbers = json_numbers(damaged_state(Dialect::kCubeV1));
      dir_.write("snapshot/config.json", config_json({fs_json("virtio_rw", "virtio_rw", "{}")}));
      file_ = dir_.write("snapshot/state.json", cube_state_json({{.id = "virtio_rw", .state = numbers}}));
      check_.shares = {{"virtio_rw", share}};
      break;
    }
    case Kind::kCloudHypervisor: {
      const std::string numbers = json_numbers(damaged_state(Dialect::kV2));
      dir_.write("snapshot/config.json", config_json({fs_json("_fs1", "myfs", "")}));
      file_ = dir_.write("snapshot/state.json", ch_state_json({{.id = "_fs1", .state = numbers}}));
      check_.shares = {{"_fs1", share}};
      break;
    }
    case Kind::kQemu:
      snapshot_ = file_ = dir_.write(
          "snapshot/vm", qemu_file({.memory = std::string(1000, 'm'),
                                    .devices = {{.state = text_of(damaged_state(Dialect::kV2))}}}));
      check_.shares = {{"", share}};
      break;
  }
}

Repaired Sample::repair(sys::Changes& changes) const {
  // Whether another process has it open is of no interest here, and slow to find out.
  const RepairRequest request{check_, Consent::kAll, true};
  const Result<RepairResult> done = repair_snapshot(sys::kernel(), changes, request, silent);
  if (!done) throw std::runtime_error("the request is wrong: " + done.error().text);
  return {done->reason.empty() && done->after.verdict == Verdict::kResume, done->reason, done->journal,
          done->kept};
}

std::optional<std::string> Sample::undo(const std::string& journal, sys::Changes& changes) {
  const Result<std::string> done = undo_repair(sys::kernel(), changes, {journal}, silent);
  if (done) return std::nullopt;
  return done.error().text;
}

std::optional<std::string> Sample::undo_all(bool newest_first, sys::Changes& changes) const {
  for (std::vector<std::string> left = journals(); !left.empty();) {
    if (newest_first) std::reverse(left.begin(), left.end());
    std::string error;
    for (const std::string& journal : left) {
      const auto wrong = undo(journal, changes);
      if (wrong && wrong->find("Undo repairs that came after it first") == std::string::npos) return wrong;
      if (wrong) error = *wrong;
    }
    const std::size_t before = left.size();
    left = journals();
    if (left.size() == before) return error;
  }
  std::string wrong = not_the_original();
  if (wrong.empty()) return std::nullopt;
  return wrong;
}

std::vector<std::string> Sample::leftovers() const {
  std::vector<std::string> out;
  for (const auto& [path, file] : read_disk(folder_).names) {
    if (!start_.names.contains(path)) out.push_back(path);
  }
  return out;
}

std::vector<std::string> Sample::journals() const {
  std::vector<std::string> out = leftovers();
  std::erase_if(out, [](const std::string& path) {
    return path.find(".vfsmend-journal") == std::string::npos || is_draft(path);
  });
  return out;
}

std::string Sample::wrong_looks(const std::string& path) const {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return "no file";
  const bool right = (st.st_mode & 07777) == original_.mode && st.st_uid == original_.owner &&
                     st.st_gid == original_.group;
  return right ? "" : fmt::format("mode {:o}, owner {}", st.st_mode, st.st_uid);
}

std::string Sample::not_the_original(const std::string& path) const {
  if (std::string wrong = wrong_looks(path); !wrong.empty()) return wrong;
  if (read_text(path) != original_.bytes) return "not the original bytes";
  return mtime_of(path) == original_.mtime_ns ? "" : "another modification time";
}

std::string Sample::not_the_original() const { return not_the_original(file_); }

std::string Sample::neither() const {
  std::vector<std::string> left = leftovers();
  std::erase_if(left, is_draft);
  bool leads_back = false;
  for (const std::string& path : journals()) {
    const auto journal = read_journal(sys::kernel(), path);
    if (!journal) return "a torn journal: " + journal.error().text;
    leads_back = leads_back || not_the_original(journal->kept).empty();
    std::erase(left, path);
    std::erase(left, journal->kept);
  }
  if (!left.empty()) return left[0] + ", which no journal names";
  if (not_the_original().empty()) return "";
  if (read_text(file_) != repaired_) return "neither the original nor the repaired file";
  if (const std::string wrong = wrong_looks(file_); !wrong.empty()) return "repaired, with " + wrong;
  return leads_back ? "" : "repaired, and no journal leads back to the original";
}

}  // namespace vfsmend::test
