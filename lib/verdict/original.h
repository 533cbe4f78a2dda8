// SPDX-License-Identifier: Apache-2.0
// Where a recorded object is now, when it is no longer at its name. Asked in this order:
//
//  1. the file system, by the object's handle: it says at once that the object is gone, and of a
//     directory where it is; of a file only where some name has led to it already;
//  2. the directory that it was in, wherever that is now: its names are gone through;
//  3. the directories beside that one;
//  4. the whole share, on request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sys/calls.h"
#include "sys/unique_fd.h"
#include "verdict/record.h"
#include "verdict/share.h"

namespace vfsmend {

class OriginalFinder {
 public:
  OriginalFinder(sys::Calls& calls, const Share& share, const Record& record, bool search_all)
      : calls_(calls), share_(share), record_(record), search_all_(search_all) {}

  // The path of the object at `position` of the record, below the share; nothing where it was not
  // found. Names that were gone through are remembered: many of one directory cost one listing.
  [[nodiscard]] std::optional<std::string> find(std::uint32_t position);
  // The object stands at `path` below the share.
  [[nodiscard]] bool is_at(std::uint32_t position, const std::string& path);

 private:
  struct Names {
    std::unordered_multimap<std::uint64_t, std::string> by_ino;
    std::vector<std::string> all;
  };

  using Places = std::unordered_map<std::uint64_t, std::vector<std::string>>;  // by inode number

  enum class ByHandle { kGone, kUnplaced, kPlaced };
  ByHandle ask_file_system(std::uint32_t position, std::string& path);
  const Names& names_in(const std::string& directory);
  std::optional<std::string> find_in(std::uint32_t position, const std::string& directory);
  const Places& everywhere();
  std::optional<std::string> find_anywhere(std::uint32_t position);
  // By names, from the directory that it was in, if that was found.
  std::optional<std::string> search(std::uint32_t position,
                                    const std::optional<std::string>& directory);
  [[nodiscard]] bool is_object(std::uint32_t position, int dir, const char* name);

  sys::Calls& calls_;
  const Share& share_;
  const Record& record_;
  bool search_all_;
  std::size_t names_left_ = 1'000'000;  // to be gone through, in all
  std::unordered_map<std::string, Names> listed_;
  std::optional<Places> everywhere_;
  std::unordered_map<std::uint32_t, std::optional<std::string>> found_;
};

}  // namespace vfsmend
