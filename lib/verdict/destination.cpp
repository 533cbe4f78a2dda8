// SPDX-License-Identifier: Apache-2.0
#include "verdict/destination.h"

#include <array>
#include <utility>

namespace vfsmend {
namespace {

template <typename T, std::size_t N>
using Names = std::array<std::pair<T, std::string_view>, N>;

constexpr Names<Profile, 4> kProfiles{{{Profile::kVirtiofsd, "virtiofsd"},
                                       {Profile::kCubeAbort, "cube-abort"},
                                       {Profile::kCubeGuestError, "cube-guest-error"},
                                       {Profile::kCubeRemap, "cube-remap"}}};
constexpr Names<OnError, 2> kOnErrors{
    {{OnError::kAbort, "abort"}, {OnError::kGuestError, "guest-error"}}};
constexpr Names<Sandbox, 3> kSandboxes{{{Sandbox::kNamespace, "namespace"},
                                        {Sandbox::kChroot, "chroot"},
                                        {Sandbox::kNone, "none"}}};
constexpr Names<InodeFileHandles, 3> kFileHandles{{{InodeFileHandles::kNever, "never"},
                                                   {InodeFileHandles::kPrefer, "prefer"},
                                                   {InodeFileHandles::kMandatory, "mandatory"}}};

template <typename T, std::size_t N>
std::string_view name_in(const Names<T, N>& names, T value) {
  for (const auto& [v, name] : names) {
    if (v == value) return name;
  }
  return "?";
}

template <typename T, std::size_t N>
std::optional<T> value_in(const Names<T, N>& names, std::string_view wanted) {
  for (const auto& [value, name] : names) {
    if (name == wanted) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Profile profile) { return name_in(kProfiles, profile); }
std::string_view name_of(OnError on_error) { return name_in(kOnErrors, on_error); }
std::string_view name_of(Sandbox sandbox) { return name_in(kSandboxes, sandbox); }

std::optional<Profile> profile_named(std::string_view name) { return value_in(kProfiles, name); }
std::optional<OnError> on_error_named(std::string_view name) { return value_in(kOnErrors, name); }
std::optional<Sandbox> sandbox_named(std::string_view name) { return value_in(kSandboxes, name); }
std::optional<InodeFileHandles> inode_file_handles_named(std::string_view name) {
  return value_in(kFileHandles, name);
}

std::optional<OnError> fixed_on_error(Profile profile) {
  switch (profile) {
    case Profile::kVirtiofsd: return std::nullopt;
    case Profile::kCubeAbort: return OnError::kAbort;
    case Profile::kCubeGuestError:
    case Profile::kCubeRemap: return OnError::kGuestError;
  }
  return std::nullopt;
}

}  // namespace vfsmend
