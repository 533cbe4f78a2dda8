// SPDX-License-Identifier: Apache-2.0
// From what was seen to what it means: one pass of rules a subject, each inode claimed by at most
// one code. The passes run in the order of precedence, so a later one finds an inode taken.
#pragma once

#include <vector>

#include "verdict/findings.h"
#include "verdict/loader_text.h"
#include "verdict/restore_model.h"

namespace vfsmend {

// What the rules see of one device. `walk` is null where the share could not be opened.
struct RuleInput {
  const WalkInput& in;
  const HostWalk* walk;
  const LoaderTexts& texts;
  const Restore& restore;
};

class Rules {
 public:
  Rules(const RuleInput& input, FindingCollector& out);

  void judge_state();    // rules_state.cpp: S001, S003, S004, S006
  void judge_flags();    // rules_flags.cpp: S005
  void judge_options();  // rules_flags.cpp: O001, E002 for descriptors
  void judge_share();    // rules_share.cpp: R001, R004, R005
  void judge_nodes();    // rules_nodes.cpp: P001, P003, P004, I001, I002, S003, E002, O001, R004
  void judge_handles();  // rules_nodes.cpp: H002

 private:
  // rules_state.cpp
  bool judge_root();
  void judge_duplicates();
  void judge_counts();
  void judge_orphans();
  void judge_next_ids();
  void judge_unresolved();
  void judge_lost();
  // rules_share.cpp
  void judge_anchor(EntryIndex anchor);
  [[nodiscard]] bool directory_is_empty(EntryIndex anchor) const;
  void spread_shadows();
  [[nodiscard]] bool in_shadow(EntryIndex e) const { return !in_shadow_.empty() && in_shadow_[e]; }
  // rules_nodes.cpp
  void judge_node(EntryIndex entry);
  void find_causes();
  void judge_missing(EntryIndex entry);
  [[nodiscard]] bool is_missing_bind(EntryIndex entry) const;
  void judge_identity(EntryIndex entry);
  void judge_type(EntryIndex entry);

  // Shared by all: rules.cpp.
  bool claim(EntryIndex entry);
  [[nodiscard]] bool abort() const { return in_.destination.on_error == OnError::kAbort; }
  [[nodiscard]] const Inode& inode(EntryIndex e) const { return in_.state.inodes[e]; }
  [[nodiscard]] const Node& node(EntryIndex e) const { return input_.walk->nodes[e]; }
  // A finding about one inode, with path and open filled in.
  [[nodiscard]] Finding about(Code code, Verdict verdict, EntryIndex entry) const;
  [[nodiscard]] std::span<const std::uint32_t> handles_on(Slot slot) const;
  [[nodiscard]] bool is_open(EntryIndex e) const {
    return !handles_on(in_.index.slot_of_entry(e)).empty();
  }
  // "handle 0 (O_RDWR) on inode 5": what is lost with an inode.
  [[nodiscard]] std::vector<std::string> casualties(EntryIndex entry) const;
  // The same of all inodes below it too; the walk's parents, else the state's.
  [[nodiscard]] std::vector<std::string> subtree_casualties(EntryIndex entry) const;

  const RuleInput& input_;
  const WalkInput& in_;
  FindingCollector& out_;
  std::vector<bool> claimed_;                 // by entry
  std::vector<std::uint32_t> handles_begin_;  // by slot
  std::vector<std::uint32_t> handles_;        // positions in State::handles
  std::vector<EntryIndex> shadows_;           // anchors of R001
  std::vector<bool> in_shadow_;               // by entry; empty where there are none
  std::vector<EntryIndex> cause_;             // by entry: the ancestor that made it a stub
};

// "O_RDWR|O_APPEND", "O_RDONLY": for people.
[[nodiscard]] std::string flags_text(std::int32_t flags);

}  // namespace vfsmend
