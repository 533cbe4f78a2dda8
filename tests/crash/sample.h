// SPDX-License-Identifier: Apache-2.0
// Snapshots that a repair mends, one of each kind that is written, on a disk of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "disk.h"
#include "poor_file_system.h"
#include "repair/apply.h"
#include "support/temp_dir.h"

namespace vfsmend::test {

enum class Kind { kRaw, kCube, kCloudHypervisor, kQemu };

[[nodiscard]] std::string name_of(Kind kind);

// What a repair came to.
struct Repaired {
  bool resumes = false;
  std::string reason;   // why nothing was changed
  std::string journal;  // both as they were told
  std::string kept;
};

class Sample {
 public:
  explicit Sample(Kind kind);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const Disk& start() const { return start_; }
  [[nodiscard]] const DiskFile& original() const { return original_; }
  // What the file holds after a repair that nothing stands in the way of.
  [[nodiscard]] const std::string& repaired() const { return repaired_; }

  [[nodiscard]] Repaired repair(sys::Changes& changes = unsynced()) const;
  // Why it was not undone.
  [[nodiscard]] static std::optional<std::string> undo(const std::string& journal,
                                                       sys::Changes& changes = unsynced());

  // Undoes until no journal is left, in their order or against it: a journal that has to wait for one
  // that came later says so, and changes nothing. The error that stays, or nothing.
  [[nodiscard]] std::optional<std::string> undo_all(bool newest_first = false,
                                                    sys::Changes& changes = unsynced()) const;

  // Of the folder as it is now.
  [[nodiscard]] std::vector<std::string> journals() const;  // those of repairs, oldest first
  [[nodiscard]] std::vector<std::string> leftovers() const;  // all that was not there at the start
  // Empty: the file is the original, with its mode, owner and modification time.
  [[nodiscard]] std::string not_the_original() const;
  // Empty: it is the original or the repaired one, and a journal leads back from the repaired one.
  // Whatever else lies beside it is a draft, or named by a journal.
  [[nodiscard]] std::string neither() const;

 private:
  void build(Kind kind);
  [[nodiscard]] std::string not_the_original(const std::string& path) const;
  [[nodiscard]] std::string wrong_looks(const std::string& path) const;

  TempDir dir_;
  std::string folder_;    // all that a repair may write to
  std::string snapshot_;  // what is given to the tool
  std::string file_;      // what holds the state
  CheckRequest check_;
  Disk start_;
  DiskFile original_;
  std::string repaired_;
};

}  // namespace vfsmend::test
