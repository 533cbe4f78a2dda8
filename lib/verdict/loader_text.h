// SPDX-License-Identifier: Apache-2.0
// The loaders' own words. People search logs for them, so they are theirs to the letter:
// virtiofsd 1.13.2 and CubeSandbox's fork, in Display form (the log) and Debug form (CubeSandbox's
// wrapper).
#pragma once

#include <optional>
#include <string>

#include "state/codec.h"
#include "verdict/host_walk.h"

namespace vfsmend {

// One error of a loader: an std::io::Error, as far as it shows.
struct LoaderError {
  std::string text;   // Display
  std::string debug;  // Debug: Custom { kind: NotFound, error: ".." } or Os { .. }
};

// An io::Error made from a text and one made from an errno.
[[nodiscard]] LoaderError custom_error(std::string_view kind, std::string text);
[[nodiscard]] LoaderError os_error(int err);
[[nodiscard]] LoaderError decode_error(postcard::DecodeError error);
// The name of std::io::ErrorKind for an errno.
[[nodiscard]] std::string_view error_kind(int err);

// The texts of one load.
class LoaderTexts {
 public:
  LoaderTexts(const WalkInput& input, const HostWalk& walk) : in_(input), walk_(walk) {}

  // The path of an entry that was found, as readlink tells the loader: from the share's root in a
  // sandbox. Nothing where it is over 4,095 bytes, ends in " (deleted)" or lies outside a sandbox.
  [[nodiscard]] std::optional<std::string> path_of(EntryIndex entry) const;
  // The path below the share by the names of the state, for people: "d/sub/e.txt". Empty for the
  // root, and where the names do not lead to it (an ancestor is lost, parents in a circle) or are
  // longer than 16 KiB.
  [[nodiscard]] std::string name_path(EntryIndex entry) const;

  // Why `entry` became a stub: without the prefix "Inode N: " that abort puts in front.
  [[nodiscard]] LoaderError reason(EntryIndex entry) const;
  // The same with it.
  [[nodiscard]] LoaderError abort_reason(EntryIndex entry) const;
  // Text 26: a handle that does not open.
  [[nodiscard]] LoaderError handle_reason(std::size_t position) const;

 private:
  [[nodiscard]] const Inode& inode_at(EntryIndex entry) const { return in_.state.inodes[entry]; }
  [[nodiscard]] std::string raw_path(EntryIndex entry) const;
  [[nodiscard]] std::string loader_view(std::string_view real) const;
  [[nodiscard]] LoaderError opening_failed(EntryIndex entry) const;
  [[nodiscard]] LoaderError handle_differs(EntryIndex entry) const;
  [[nodiscard]] LoaderError stub_use(EntryIndex stub) const;

  const WalkInput& in_;
  const HostWalk& walk_;
};

}  // namespace vfsmend
