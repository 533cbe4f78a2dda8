// SPDX-License-Identifier: Apache-2.0
#include "verdict/manifest_of.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "manifest/blocks.h"
#include "manifest/capture.h"
#include "manifest/manifest_file.h"
#include "sys/draft_file.h"
#include "sys/read_file.h"
#include "verdict/capture_snapshot.h"

namespace vfsmend {
namespace {

constexpr std::uint64_t kLargestPolicy = std::uint64_t{1} << 20;  // bytes

// Why a file is not root's own.
std::string distrust_of(sys::Calls& calls, int fd) {
  struct statx stat{};
  if (const int err = calls.statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, stat); err < 0) {
    return errno_text(-err);
  }
  if (stat.stx_uid != 0) return fmt::format("owned by user {}, not by root", stat.stx_uid);
  if ((stat.stx_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fmt::format("mode {:04o}: others than root can write it", stat.stx_mode & 07777);
  }
  return "";
}

Result<ByteVector> read_whole(sys::Calls& calls, const std::string& file, std::uint64_t most,
                              std::string* distrust = nullptr) {
  VFSMEND_TRY_ASSIGN(const sys::Located located, sys::locate(calls, AT_FDCWD, file));
  VFSMEND_TRY_ASSIGN(const sys::RegularFile opened, sys::open_regular(calls, located));
  if (opened.stamp.size > most) {
    return fail(ErrorCode::kLimit, fmt::format("{} bytes, more than {}", opened.stamp.size, most));
  }
  if (distrust != nullptr) *distrust = distrust_of(calls, opened.fd.get());
  ByteVector bytes(opened.stamp.size);
  VFSMEND_TRY(sys::read_exactly(calls, opened.fd.get(), bytes, 0));
  return bytes;
}

Result<FoundManifest> read_manifest(sys::Calls& calls, const std::string& file) {
  std::string distrust;
  VFSMEND_TRY_ASSIGN(const ByteVector bytes, read_whole(calls, file, kMaxManifestMemory, &distrust));
  VFSMEND_TRY_ASSIGN(Manifest manifest, decode_manifest(bytes));
  const std::string time(fact(manifest.facts, "time"));
  VFSMEND_TRY_ASSIGN(sys::Located directory, sys::locate(calls, AT_FDCWD, sys::directory_of(file)));
  return FoundManifest{std::move(manifest), {file, bytes.size(), time}, std::move(distrust),
                       std::move(directory.fd)};
}

}  // namespace

Result<std::optional<FoundManifest>> manifest_of(sys::Calls& calls, const CheckRequest& request) {
  const bool named = !request.manifest_file.empty();
  const std::string file =
      named ? request.manifest_file : manifest_path_of(calls, request.snapshot_path);
  Result<FoundManifest> found = read_manifest(calls, file);
  if (found) return std::optional(*std::move(found));
  Error error = std::move(found).error().context(file);
  if (named) error.code = ErrorCode::kUsage;
  else if (error.code == ErrorCode::kSystem && error.sys_errno == ENOENT) return std::nullopt;
  return tl::make_unexpected(std::move(error));
}

const ManifestSection* section_of(const Manifest& manifest, const std::string& device) {
  const auto at = std::ranges::find(manifest.sections, device, &ManifestSection::device);
  if (at != manifest.sections.end()) return &*at;
  const auto tree = std::ranges::find(manifest.sections, "", &ManifestSection::device);
  return tree == manifest.sections.end() ? nullptr : &*tree;
}

Result<Policy> read_policy(sys::Calls& calls, const std::string& file) {
  if (file.empty()) return Policy();
  const auto usage = [&](Error error) {
    error = std::move(error).context(fmt::format("--policy {}", printable(file)));
    error.code = ErrorCode::kUsage;
    return tl::make_unexpected(std::move(error));
  };
  Result<ByteVector> bytes = read_whole(calls, file, kLargestPolicy);
  if (!bytes) return usage(std::move(bytes).error());
  Result<Policy> policy = Policy::parse(as_text(*bytes));
  if (!policy) return usage(std::move(policy).error());
  return policy;
}

}  // namespace vfsmend
