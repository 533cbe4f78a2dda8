// SPDX-License-Identifier: Apache-2.0
// The restoring side: which program will load the state, and how it is started. Switches bear
// virtiofsd's names and defaults; CubeSandbox's loader lives inside its VMM and takes the same
// from config.json and its annotation.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/dialect.h"

namespace vfsmend {

enum class Profile {
  kVirtiofsd,       // under QEMU, libvirt, Cloud Hypervisor
  kCubeAbort,       // CubeSandbox until June 2026
  kCubeGuestError,  // CubeSandbox since June 2026
  kCubeRemap,       // CubeSandbox since September 2026
};
enum class OnError { kAbort, kGuestError };  // --migration-on-error
enum class Sandbox { kNamespace, kChroot, kNone };
enum class InodeFileHandles { kNever, kPrefer, kMandatory };

struct Version {
  unsigned major = 1;
  unsigned minor = 13;
  unsigned patch = 2;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the default for a null pointer
  friend constexpr auto operator<=>(const Version&, const Version&) = default;
};

// The capabilities of which a load makes use. The daemon drops all others.
struct Capabilities {
  bool dac_override = true;      // open what the mode forbids
  bool dac_read_search = false;  // open_by_handle_at(2)
  bool fowner = true;            // O_NOATIME on other people's files
  // --modcaps=-dac_read_search: with file handles the daemon does not start then.
  bool dac_read_search_dropped = false;
};

struct Destination {
  Profile profile = Profile::kVirtiofsd;
  OnError on_error = OnError::kAbort;
  Reader reader = Reader::kVirtiofsd;
  Sandbox sandbox = Sandbox::kNamespace;
  bool writeback = false;
  bool announce_submounts = true;
  bool posix_acl = false;
  bool allow_direct_io = false;
  bool readonly = false;
  InodeFileHandles inode_file_handles = InodeFileHandles::kNever;
  Capabilities capabilities;
  uid_t uid = 0;
  gid_t gid = 0;  // its further groups are not known and taken to be none
  // --rlimit-nofile. Nothing: not known, descriptors are named as an assumption and not judged.
  std::optional<std::uint64_t> rlimit_nofile;
  std::uint64_t thread_pool_size = 0;
  std::string cache = "auto";
  Version version;
  std::string shared_dir;  // as the user or the container names it
  // Cube: what it opens before it reads the state, and where filter inodes may lie.
  std::vector<std::string> allowed_dirs;
  bool remap_filter = false;
  // --allow-rebind: a state that names another sandbox's directory may be given this one's.
  bool allow_rebind = false;

  [[nodiscard]] bool is_cube() const { return profile != Profile::kVirtiofsd; }
  // The share is the process's root: names cannot leave it, texts begin at it.
  [[nodiscard]] bool share_is_root() const { return !is_cube() && sandbox != Sandbox::kNone; }
};

// "virtiofsd", "cube-abort", "cube-guest-error", "cube-remap"
[[nodiscard]] std::string_view name_of(Profile profile);
[[nodiscard]] std::optional<Profile> profile_named(std::string_view name);
// "abort", "guest-error"
[[nodiscard]] std::string_view name_of(OnError on_error);
[[nodiscard]] std::optional<OnError> on_error_named(std::string_view name);
// "namespace", "chroot", "none"
[[nodiscard]] std::string_view name_of(Sandbox sandbox);
[[nodiscard]] std::optional<Sandbox> sandbox_named(std::string_view name);
// "never", "prefer", "mandatory"
[[nodiscard]] std::optional<InodeFileHandles> inode_file_handles_named(std::string_view name);

// The error policy that a profile fixes; nothing for virtiofsd, which takes it from a switch.
[[nodiscard]] std::optional<OnError> fixed_on_error(Profile profile);

}  // namespace vfsmend
