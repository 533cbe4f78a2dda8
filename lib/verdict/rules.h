// SPDX-License-Identifier: Apache-2.0
// From what was seen to what it means: one pass of rules a subject, each inode claimed by at most
// one code. The passes run in the order of precedence, so a later one finds an inode taken.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "verdict/findings.h"
#include "verdict/loader_text.h"
#include "verdict/original.h"
#include "verdict/record_options.h"
#include "verdict/restore_model.h"

namespace vfsmend {

// What the rules see of one device. `walk` is null where the share could not be opened. Where
// `in.record` is set, `options` is too.
struct RuleInput {
  const WalkInput& in;
  const HostWalk* walk;
  const LoaderTexts& texts;
  const Restore& restore;
  const RecordOptions* options = nullptr;
  bool recorded_state = true;  // the state's bytes are those of the record, or of a repair of them
};

class Rules {
 public:
  Rules(const RuleInput& input, FindingCollector& out);

  void judge_generation();  // rules_generation.cpp: G001; before all others
  void judge_state();    // rules_state.cpp: S001, S003, S004, S006
  void judge_flags();    // rules_flags.cpp: S005
  void judge_options();  // rules_flags.cpp: O001, E002 for descriptors
  void judge_share();    // rules_share.cpp: R001, R004, R005
  void judge_nodes();    // rules_nodes.cpp: P001, P003, P004, I001, I002, S003, E002, O001, R004
  void judge_handles();  // rules_nodes.cpp: H002
  // Against a record of the capture; without one they find nothing.
  void judge_metadata();  // rules_metadata.cpp: M001 to M004
  void judge_contents();  // rules_content.cpp: C001, C002, M005
  void judge_hints();     // rules_generation.cpp: T001, L001

  // What was not compared, for a person.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  // rules_state.cpp
  bool judge_root();
  void judge_duplicates();
  void judge_counts();
  void judge_orphans();
  void judge_next_ids();
  void judge_unresolved();
  void judge_lost();
  [[nodiscard]] bool has_unspeakable_names() const;
  bool judge_kept(EntryIndex e);
  // rules_flags.cpp
  [[nodiscard]] bool has_captured_size(EntryIndex e) const;
  void judge_descriptors();
  // rules_mounts.cpp: R002, R003, R004, I003
  void judge_root_object();
  void judge_mounts();
  void judge_mount(const ManifestMount& mount);
  void judge_access(const ManifestMount& mount, const sys::Mount& now);
  void judge_added_mounts();
  void tell_not_mounted(Finding& f, bool unmounted, std::string_view mount_point) const;
  void tell_mount(Code code, Verdict verdict, const std::string& place, std::string message,
                  std::string sees, std::optional<Remedy> remedy);
  // rules_identity.cpp: P002, P003, I001, I002, I004
  // `to`: below the share, where the object of `path` is now; `shown`: the same for people.
  [[nodiscard]] static Remedy follow(const std::string& path, const std::string& shown, std::string to);
  [[nodiscard]] bool judge_recorded_object(EntryIndex e);
  [[nodiscard]] bool judge_moved(EntryIndex e);
  [[nodiscard]] bool moves_with_parent(EntryIndex e);
  void tell_moved(EntryIndex e, const std::string& to);
  void tell_replaced(EntryIndex e);
  // rules_metadata.cpp
  void judge_mode(EntryIndex e, const Today& now);
  void judge_owner(EntryIndex e, const Today& now);
  void judge_xattrs(EntryIndex e, const Today& now);
  // rules_content.cpp
  enum class Content { kSame, kAppended, kDiffers, kNotKnown, kOverBudget };
  void judge_content(EntryIndex e);
  [[nodiscard]] Content compare_content(EntryIndex e, std::uint64_t size_now);
  void tell_content(EntryIndex e, Content content, std::uint64_t size_now);
  void tell_times(EntryIndex e);
  [[nodiscard]] Verdict content_verdict(EntryIndex e, Content content) const;
  [[nodiscard]] bool only_appends(EntryIndex e) const;
  // rules_share.cpp
  void judge_anchor(EntryIndex anchor);
  [[nodiscard]] bool directory_is_empty(EntryIndex anchor) const;
  void spread_shadows();
  [[nodiscard]] bool in_shadow(EntryIndex e) const { return !in_shadow_.empty() && in_shadow_[e]; }
  // rules_nodes.cpp
  void judge_node(EntryIndex entry);
  void find_causes();
  void judge_missing(EntryIndex entry);
  void judge_identity(EntryIndex entry);
  void judge_type(EntryIndex entry);
  // rules_binds.cpp
  [[nodiscard]] bool is_missing_bind(EntryIndex entry) const;
  [[nodiscard]] const AllowedDir* bind_of_today(EntryIndex entry) const;
  void find_binds();
  void offer_bind(EntryIndex entry, const AllowedDir& dir, Finding& finding) const;
  static void offer_rebind(const AllowedDir& dir, const std::string& now, Finding& finding);

  // Of the record: rules_record.cpp.
  [[nodiscard]] const Record* record() const { return other_generation_ ? nullptr : in_.record; }
  // Position of the entry in the record where more than its name is known, else kNoIndex.
  [[nodiscard]] std::uint32_t recorded(EntryIndex e) const;
  [[nodiscard]] std::uint16_t changes(EntryIndex e) const;
  [[nodiscard]] const Today* today(EntryIndex e) const;
  [[nodiscard]] bool must_match(Code code, EntryIndex e) const;
  // A finding about an entry, unless the policy makes nothing, a warning, or more of it.
  template <typename Make>
  void tell(Code code, Verdict verdict, EntryIndex e, Make make) {
    const auto action = policy_for(code, input_.texts, e);
    if (action == PolicyAction::kIgnore) return;
    if (action == PolicyAction::kWarn) verdict = Verdict::kResume;
    if (action == PolicyAction::kMustMatch) verdict = worst(verdict, Verdict::kRebuild);
    out_.add(code, verdict, [&] {
      Finding finding = about(code, verdict, e);
      make(finding);
      return finding;
    });
  }
  [[nodiscard]] std::optional<PolicyAction> policy_for(Code code, const LoaderTexts& texts,
                                                       EntryIndex e) const;

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
  std::set<std::string_view> bound_;          // directories of the filter inodes
  std::vector<EntryIndex> bind_above_;        // by entry: the filter inode that led to it, or kNoIndex
  // Against the record.
  std::optional<OriginalFinder> finder_;
  std::unordered_map<EntryIndex, std::string> moved_to_;  // below the share
  std::vector<std::string> shadow_places_;  // mount points below which nothing can be judged
  bool other_generation_ = false;  // the record is not of this snapshot
  bool rebound_ = false;           // another root, and the user takes it for the share
  std::vector<bool> times_told_;   // by entry: M005
  std::uint64_t hash_budget_ = 0;
  std::uint64_t not_hashed_ = 0;   // files whose ctime moved, without a hash to compare with
  std::uint64_t over_budget_ = 0;
  std::vector<std::string> notes_;
};

// "O_RDWR|O_APPEND", "O_RDONLY": for people.
[[nodiscard]] std::string flags_text(std::int32_t flags);

}  // namespace vfsmend
