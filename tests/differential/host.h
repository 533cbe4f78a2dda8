// SPDX-License-Identifier: Apache-2.0
// The tree of a case on a real file system: below DIRECTORY/share, and nothing outside DIRECTORY.
// We are root, and the tree is full of links: a name is resolved below the share, without any.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan.h"
#include "sys/unique_fd.h"

namespace vfsmend::differential {

class Host {
 public:
  // Makes `directory` and its share. `bases`: a directory on each file system that there is.
  Host(const std::vector<std::string>& bases, std::size_t filesystem, const std::string& name);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host();

  // A step that meets nothing (no such file, not empty, not supported there) does nothing.
  void apply(const Step& step);

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const std::string& share() const { return share_; }
  // Mounts were changed since the last call: a daemon in a mount namespace of its own sees those
  // of its start.
  [[nodiscard]] bool mounts_changed() { return std::exchange(mounts_changed_, false); }

 private:
  // A path of the share as its directory's descriptor and a name.
  struct Place {
    sys::UniqueFd directory;
    std::string path;  // through /proc/self/fd; the last part is not resolved
  };
  [[nodiscard]] std::optional<Place> place(const std::string& path) const;
  void apply_to(const Step& step, const Place& place);
  void apply_to_both(const Step& step, const Place& place);
  void bind(const Place& place, std::uint64_t filesystem);
  void change_mount(const Step& step, const Place& place);

  const std::vector<std::string>& bases_;
  std::string directory_;
  std::string share_;
  sys::UniqueFd outer_mounts_;  // the mount namespace in which none of the case's mounts are
  std::vector<std::string> elsewhere_;  // sources of the mounts
  bool mounts_changed_ = false;
};

}  // namespace vfsmend::differential
