// SPDX-License-Identifier: Apache-2.0
#include "snapshot/directory.h"

#include <fmt/core.h>
#include <linux/openat2.h>

#include <array>
#include <cerrno>
#include <memory>

#include "base/text.h"
#include "snapshot/byte_source.h"
#include "snapshot/cloud_hypervisor.h"
#include "snapshot/cube.h"
#include "snapshot/limits.h"
#include "snapshot/vm_snapshot.h"

namespace vfsmend {
namespace {

constexpr std::array kPackageFiles = {"metadata.json", "sandbox_spec.json", "catalog.json"};
constexpr std::array kMemoryFiles = {"memory-ranges", "memory", "memory.dev"};

Result<void> check_size(std::uint64_t size, std::uint64_t most) {
  if (size <= most) return {};
  return fail(ErrorCode::kLimit,
              fmt::format("has {} bytes; more than {} are not read", size, most));
}

class DirectoryReader {
 public:
  DirectoryReader(sys::Calls& calls, const sys::Located& directory, const std::string& path,
                  Snapshot& out)
      : calls_(calls), directory_(directory), path_(path), out_(out) {}

  Result<void> read(const OpenOptions& options, std::optional<ContainerKind>& recognised) {
    VFSMEND_TRY_ASSIGN(const bool found, find_layout());
    if (!found) return nothing_known();
    VmSnapshot vm;
    vm.is_package = !prefix_.empty() && has_package_files();
    vm.state_path = path_of("state.json");
    Result<void> config = at("config.json", read_config(vm));
    Result<void> state = at("state.json", read_state(vm));
    recognised = kind_of(vm);
    if (!state) return explain(state.error(), recognised);
    if (!config) return config;
    if (!recognised) return nothing_known();
    out_.kind = *recognised;
    if (!options.overlay_file.empty()) VFSMEND_TRY(overlay(options.overlay_file, vm));
    VFSMEND_TRY_ASSIGN(out_.devices, *recognised == ContainerKind::kCube
                                         ? cube_devices(vm, *state_)
                                         : cloud_hypervisor_devices(vm, *state_));
    if (!vm.has_config) out_.notes.emplace_back("config.json is missing");
    note_unread();
    return {};
  }

 private:
  [[nodiscard]] std::string path_of(const std::string& name) const {
    return path_ + (path_.ends_with('/') ? "" : "/") + prefix_ + name;
  }

  // Links may lead about inside the directory, not out of it.
  [[nodiscard]] Result<sys::Located> locate(const std::string& name) {
    return sys::locate(calls_, directory_.fd.get(), name, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
  }

  [[nodiscard]] bool has(const std::string& name) {
    const auto found = locate(name);
    return found || found.error().sys_errno != ENOENT;
  }

  [[nodiscard]] bool has_package_files() {
    for (const char* name : kPackageFiles) {
      if (has(name)) return true;
    }
    return false;
  }

  // Sets prefix_. A state.json decides; without one anywhere, a config.json may tell whose it is.
  Result<bool> find_layout() {
    for (const char* name : {"state.json", "config.json"}) {
      for (const char* prefix : {"", "snapshot/"}) {
        const auto found = locate(prefix + std::string(name));
        if (found) return prefix_ = prefix, true;
        const int err = found.error().sys_errno;
        if (err == ENOENT || err == ENOTDIR) continue;
        return tl::make_unexpected(
            Error(found.error()).context(path_of(prefix + std::string(name))));
      }
    }
    return false;
  }

  [[nodiscard]] tl::unexpected<Error> nothing_known() const {
    return fail(ErrorCode::kNotAState,
                fmt::format("{}: a directory that is no snapshot: looked for a device tree in "
                            "state.json and for \"fs\" in config.json, here and in snapshot/",
                            path_));
  }

  // An error of `result`, with the path in front.
  template <typename T>
  [[nodiscard]] Result<T> at(const std::string& name, Result<T> result) const {
    if (result) return result;
    return tl::make_unexpected(std::move(result).error().context(path_of(name)));
  }

  Result<std::unique_ptr<ByteSource>> open(const std::string& name, std::uint64_t most) {
    VFSMEND_TRY_ASSIGN(const sys::Located located, locate(prefix_ + name));
    VFSMEND_TRY_ASSIGN(sys::RegularFile file, sys::open_regular(calls_, located));
    out_.files.push_back({path_of(name), file.stamp});
    VFSMEND_TRY(check_size(file.stamp.size, most));
    return std::make_unique<FileSource>(calls_, std::move(file));
  }

  Result<void> read_config(VmSnapshot& vm) {
    auto source = open("config.json", kMaxConfigBytes);
    if (!source && source.error().sys_errno == ENOENT) return {};
    if (!source) return tl::make_unexpected(std::move(source).error());
    vm.has_config = true;
    JsonText text(**source);
    return parse_vm_config(text, vm.config);
  }

  Result<void> read_state(VmSnapshot& vm) {
    VFSMEND_TRY_ASSIGN(state_source_, open("state.json", kMaxStateJsonBytes));
    state_.emplace(*state_source_);
    return parse_state_tree(*state_, vm.tree);
  }

  // A state.json that is missing or damaged, in a directory that nothing else tells to be a
  // snapshot, is some other program's.
  [[nodiscard]] Result<void> explain(const Error& error,
                                     const std::optional<ContainerKind>& recognised) const {
    const bool cannot_look = error.code == ErrorCode::kSystem && error.sys_errno != ENOENT;
    if (recognised || cannot_look) return tl::make_unexpected(error);
    return fail(ErrorCode::kNotAState, fmt::format("{} (and nothing in {} tells that it is a "
                                                   "snapshot)",
                                                   error.text, path_));
  }

  Result<void> overlay(const std::string& file, VmSnapshot& vm) {
    if (out_.kind != ContainerKind::kCube) {
      return fail(ErrorCode::kUsage, fmt::format("{}: an overlay is for CubeSandbox snapshots; "
                                                 "this one is of {}",
                                                 file, name_of(out_.kind)));
    }
    auto entries = read_overlay(file);
    if (!entries) {
      Error error = std::move(entries).error();
      error.code = ErrorCode::kUsage;  // the user named it
      return tl::make_unexpected(std::move(error).context(file));
    }
    for (const std::string& id : apply_cube_overlay(*entries, vm.config)) {
      out_.notes.push_back(
          fmt::format("{}: {} has no backendfs_config in config.json, so the "
                      "overlay has no effect on it",
                      file, printable(id)));
    }
    return {};
  }

  Result<std::vector<ConfiguredFs>> read_overlay(const std::string& file) {
    VFSMEND_TRY_ASSIGN(const sys::Located located, sys::locate(calls_, AT_FDCWD, file));
    VFSMEND_TRY_ASSIGN(sys::RegularFile regular, sys::open_regular(calls_, located));
    VFSMEND_TRY(check_size(regular.stamp.size, kMaxConfigBytes));
    FileSource source(calls_, std::move(regular));
    JsonText text(source);
    return parse_cube_overlay(text);
  }

  void note_unread() {
    for (const char* name : kMemoryFiles) {
      if (has(prefix_ + name)) out_.not_read.push_back(path_of(name));
    }
    for (const char* name : kPackageFiles) {
      if (!has(name)) continue;
      out_.not_read.push_back(path_ + (path_.ends_with('/') ? "" : "/") + name);
    }
  }

  sys::Calls& calls_;
  const sys::Located& directory_;
  const std::string& path_;
  Snapshot& out_;
  std::string prefix_;  // "" or "snapshot/"
  std::unique_ptr<ByteSource> state_source_;
  std::optional<JsonText> state_;  // state.json
};

}  // namespace

Result<void> read_directory(sys::Calls& calls, const sys::Located& directory,
                            const std::string& path, const OpenOptions& options,
                            std::optional<ContainerKind>& recognised, Snapshot& out) {
  return DirectoryReader(calls, directory, path, out).read(options, recognised);
}

}  // namespace vfsmend
