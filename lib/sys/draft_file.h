// SPDX-License-Identifier: Apache-2.0
// A new file that nobody sees before it is whole, and that leaves nothing behind when it never
// becomes so.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "sys/changes.h"
#include "sys/unique_fd.h"

namespace vfsmend::sys {

// Of a path: "." for a bare name.
[[nodiscard]] std::string directory_of(const std::string& file);

// Waits until what was renamed, linked or removed in the directory of `file` (below `dir`, AT_FDCWD
// among them) is on disk. kSystem.
[[nodiscard]] Result<void> sync_directory(Changes& changes, int dir, const std::string& file);

// All of `bytes`, at `offset`. kSystem.
[[nodiscard]] Result<void> write_all(Changes& changes, int fd, Bytes bytes, std::uint64_t offset);

// A file beside `file` (below `dir`), mode 0600: without a name (O_TMPFILE), or where the file
// system has none of that kind, as `file`.xxxxxx. As long as it was not handed over it is one of
// ours, and removed.
class Draft {
 public:
  Draft(Changes& changes, int dir, std::string file);
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft();

  [[nodiscard]] int fd() const { return fd_.get(); }  // for writing; negative: why there is none
  // Puts it in the place of what `file` is, or of nothing. The content has to be on disk already.
  [[nodiscard]] Result<void> rename_to_file();
  // The same, but where something has that name already: kUsage.
  [[nodiscard]] Result<void> rename_to_new_file();
  // Removes it, because of `error`; where that fails too, the error says what is left.
  [[nodiscard]] Error give_up(Error error);

 private:
  [[nodiscard]] Result<void> give_name();
  [[nodiscard]] std::string free_name(int attempt) const;

  Changes& changes_;
  int dir_;
  std::string file_;
  std::string name_;
  UniqueFd fd_;
  bool named_ = false;
};

}  // namespace vfsmend::sys
