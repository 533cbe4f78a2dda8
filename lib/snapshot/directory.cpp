// SPDX-License-Identifier: Apache-2.0
#include "snapshot/directory.h"

#include <fmt/core.h>
#include <linux/openat2.h>

#include <array>
#include <cerrno>

#include "snapshot/byte_source.h"
#include "snapshot/cloud_hypervisor.h"
#include "snapshot/cube.h"
#include "snapshot/limits.h"
#include "snapshot/vm_snapshot.h"

namespace vfsmend {
namespace {

constexpr std::array kPackageFiles = {"metadata.json", "sandbox_spec.json", "catalog.json"};
constexpr std::array kMemoryFiles = {"memory-ranges", "memory", "memory.dev"};

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
    const Result<void> config = read_config(vm);
    const Result<void> state = read_state(vm);
    recognised = kind_of(vm);
    if (!state) return explain(state.error(), vm, recognised);
    if (!config) return config;
    if (!recognised) return nothing_known();
    out_.kind = *recognised;
    if (!options.overlay_file.empty()) VFSMEND_TRY(overlay(options.overlay_file, vm));
    VFSMEND_TRY_ASSIGN(out_.devices, *recognised == ContainerKind::kCube
                                         ? cube_devices(vm)
                                         : cloud_hypervisor_devices(vm));
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
    return sys::locate(calls_, directory_.fd.get(), name,
                       RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
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
        return tl::make_unexpected(Error(found.error()).context(path_of(prefix + std::string(name))));
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

  Result<Buffer> read_file(const std::string& name, std::uint64_t most) {
    const auto in_context = [&](Error error) {
      return tl::make_unexpected(std::move(error).context(path_of(name)));
    };
    auto located = locate(prefix_ + name);
    if (!located) return in_context(std::move(located).error());
    auto file = sys::open_regular(calls_, *located);
    if (!file) return in_context(std::move(file).error());
    out_.files.push_back({path_of(name), file->stamp});
    FileSource source(calls_, std::move(*file));
    auto bytes = read_whole(source, most);
    if (!bytes) return in_context(std::move(bytes).error());
    return bytes;
  }

  Result<void> read_config(VmSnapshot& vm) {
    auto bytes = read_file("config.json", kMaxConfigBytes);
    if (!bytes && bytes.error().sys_errno == ENOENT) return {};
    if (!bytes) return tl::make_unexpected(std::move(bytes).error());
    vm.has_config = true;
    auto parsed = parse_vm_config(bytes->bytes(), vm.config);
    if (!parsed) {
      return tl::make_unexpected(std::move(parsed).error().context(path_of("config.json")));
    }
    return {};
  }

  Result<void> read_state(VmSnapshot& vm) {
    VFSMEND_TRY_ASSIGN(vm.state, read_file("state.json", kMaxStateJsonBytes));
    auto parsed = parse_state_tree(vm.state.bytes(), vm.tree);
    if (!parsed) return tl::make_unexpected(std::move(parsed).error().context(vm.state_path));
    return {};
  }

  // A state.json that cannot be read, in a directory that nothing else tells to be a snapshot, is
  // some other program's.
  [[nodiscard]] Result<void> explain(const Error& error, const VmSnapshot& vm,
                                     const std::optional<ContainerKind>& recognised) const {
    const bool may_be_any = error.code == ErrorCode::kFormat ||
                            error.code == ErrorCode::kNotAState || error.sys_errno == ENOENT;
    if (recognised || vm.has_config || !may_be_any) return tl::make_unexpected(error);
    return fail(ErrorCode::kNotAState, fmt::format("{} (and nothing in {} tells that it is a "
                                                   "snapshot)", error.text, path_));
  }

  Result<void> overlay(const std::string& file, VmSnapshot& vm) {
    if (out_.kind != ContainerKind::kCube) {
      return fail(ErrorCode::kUsage, fmt::format("{}: an overlay is for CubeSandbox snapshots; "
                                                 "this one is of {}", file, name_of(out_.kind)));
    }
    auto entries = read_overlay(file);
    if (!entries) {
      Error error = std::move(entries).error();
      error.code = ErrorCode::kUsage;  // the user named it
      return tl::make_unexpected(std::move(error).context(file));
    }
    for (const std::string& id : apply_cube_overlay(*entries, vm.config)) {
      out_.notes.push_back(fmt::format("{}: {} has no backendfs_config in config.json, so the "
                                       "overlay has no effect on it", file, id));
    }
    return {};
  }

  Result<std::vector<ConfiguredFs>> read_overlay(const std::string& file) {
    VFSMEND_TRY_ASSIGN(const sys::Located located, sys::locate(calls_, AT_FDCWD, file));
    VFSMEND_TRY_ASSIGN(sys::RegularFile regular, sys::open_regular(calls_, located));
    FileSource source(calls_, std::move(regular));
    VFSMEND_TRY_ASSIGN(const Buffer bytes, read_whole(source, kMaxConfigBytes));
    return parse_cube_overlay(bytes.bytes());
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
};

}  // namespace

Result<void> read_directory(sys::Calls& calls, const sys::Located& directory,
                            const std::string& path, const OpenOptions& options,
                            std::optional<ContainerKind>& recognised, Snapshot& out) {
  return DirectoryReader(calls, directory, path, out).read(options, recognised);
}

}  // namespace vfsmend
