// SPDX-License-Identifier: Apache-2.0
#include "repair/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "base/text.h"
#include "manifest/capture.h"
#include "repair/host_plan.h"
#include "repair/places.h"
#include "repair/state_edit.h"
#include "verdict/device_check.h"

namespace vfsmend {
namespace {

// What one round of steps uncovers, the next mends: a parent that was found again shows its children.
constexpr int kMostRounds = 16;

bool apply(const Finding& finding, StateEdit& edit) {
  const Remedy& remedy = *finding.repair;
  switch (remedy.mend) {
    case Mend::kNone: return false;
    case Mend::kWriteRoot: return edit.write_root();
    case Mend::kDropLost: return edit.drop_lost();
    case Mend::kDropInode: return false;  // all of them at once: drop()
    case Mend::kDropHandle: return finding.handle && edit.drop_handles(*finding.handle);
    case Mend::kCorrectCount: return finding.inode && edit.correct_count(*finding.inode);
    case Mend::kRaiseNextIds: return edit.raise_next_ids();
    case Mend::kRewritePath: return finding.inode && edit.rewrite_path(*finding.inode, remedy.to);
    case Mend::kRewriteFullname: return finding.inode && edit.rewrite_fullname(*finding.inode, remedy.to);
    case Mend::kStripHandles: return edit.strip_handles();
    case Mend::kChangeFlags: return finding.handle && edit.change_flags(*finding.handle, remedy.flags);
    case Mend::kCutTrailing: return true;  // whatever is encoded has none
    default: return false;  // on the host
  }
}

PlannedStep step_of(const Finding& finding) {
  const Remedy& remedy = *finding.repair;
  return {finding.code, remedy.mend, finding.inode,  finding.handle,   finding.path,
          remedy.action, remedy.safe, remedy.casualties, finding.message, "", ""};
}

// "inode 7 (d/f): drop the inode from the state"
std::string told(const Finding& finding) {
  std::string who;
  if (finding.inode) who = fmt::format("inode {}", *finding.inode);
  if (!finding.path.empty()) who += fmt::format("{}{}", who.empty() ? "" : " at ", finding.path);
  if (!who.empty()) who.insert(0, " ");
  return fmt::format("{}{}: {}", info(finding.code).id, who,
                     finding.repair ? finding.repair->action : finding.message);
}

class DevicePlanner {
 public:
  DevicePlanner(const DeviceInput& input, Consent consent, const Progress& progress, const NodeMap* map)
      : in_(input), consent_(consent), progress_(progress), map_(map), host_(in_) {}

  DevicePlan run() {
    plan_.device = in_.device.id;
    plan_.before = *in_.device.state;
    plan_.after = plan_.before;
    if (map_ != nullptr) give_places();
    for (int round = 0; round < kMostRounds; ++round) {
      const DeviceOutcome outcome = judge();
      plan_.verdict = outcome.report.verdict;
      if (plan_.verdict != Verdict::kRepair || !mend(outcome.report)) {
        mend_host(outcome.report);
        break;
      }
    }
    if (worst(plan_.verdict, Verdict::kRepair) != Verdict::kRepair) give_up();
    // Also for who else has it open. Where it cannot be opened, nobody has.
    if (!plan_.steps.empty()) static_cast<void>(host_.find_share());
    plan_.host = host_.take();
    const std::string state = "the state's XXH3-128 is " + state_digest(plan_.before);
    for (PlannedStep& step : plan_.steps) {
      if (is_on_host(step.mend)) continue;
      step.precondition = state;
      step.inverse = "the original file, which is kept";
    }
    return std::move(plan_);
  }

 private:
  // What the node map knows of the lost inodes; the rest is judged as ever, without them.
  void give_places() {
    const Verdict before = judge().report.verdict;
    auto decoded = decode(plan_.before, in_.destination.reader);
    if (!decoded || worst(before, Verdict::kRepair) != Verdict::kRepair) return;
    progress_(fmt::format("device {}: the node map against the share", in_.device.id));
    Places places = places_for(in_.calls, in_.destination, decoded->state, *map_);
    plan_.left = std::move(places.refused);
    StateEdit edit(*std::move(decoded));
    const auto root = std::ranges::find(edit.state().inodes, kRootId, &Inode::id);
    const bool root_lost = root == edit.state().inodes.end() || !location_as<RootNode>(*root);
    if (!edit.flatten(places.nodes)) return;
    plan_.after = edit.bytes();
    if (const Verdict now = judge().report.verdict; worst(now, Verdict::kRepair) != Verdict::kRepair) {
      plan_.after = plan_.before;
      plan_.left.push_back(fmt::format("the node map is not used: with its paths the verdict is {}", name_of(now)));
      return;
    }
    if (root_lost) {
      plan_.steps.push_back({Code::kS001, Mend::kWriteRoot, kRootId, {}, "",
                             "write the root record: the root is always the share", true, {},
                             "the source lost the root", "", ""});
    }
    for (const PlacedNode& node : places.nodes) {
      plan_.steps.push_back({root_lost ? Code::kS001 : Code::kS004, Mend::kRewritePath, node.node, {}, node.path,
                             "give the inode its path back, by the node map", true, {},
                             fmt::format("the source lost inode {}", node.node), "", ""});
    }
  }

  DeviceOutcome judge() {
    device_ = in_.device;
    device_.state = plan_.after;
    DeviceInput input{in_.calls, device_, in_.container, in_.destination};
    input.reader_known = in_.reader_known;
    input.recorded = in_.recorded;
    input.options = in_.options;
    input.max_findings = std::numeric_limits<std::size_t>::max();
    return check_device(std::move(input), progress_);
  }

  [[nodiscard]] bool allowed(const Finding& finding) const {
    if (finding.verdict != Verdict::kRepair || !finding.repair) return false;
    if (finding.repair->mend == Mend::kNone) return false;
    // The switch that a step needs is the consent to it.
    return finding.repair->safe || consent_ == Consent::kAll || finding.repair->needs != Switch::kNone;
  }

  // One round; false where nothing could be changed.
  bool mend(const DeviceReport& report) {
    auto decoded = decode(plan_.after, in_.destination.reader);
    if (!decoded) return false;
    StateEdit edit(*std::move(decoded));
    std::vector<const Finding*> todo;
    for (const Finding& finding : report.findings) {
      if (allowed(finding) && !is_on_host(finding.repair->mend)) todo.push_back(&finding);
    }
    std::ranges::stable_sort(todo, {}, [](const Finding* f) { return f->repair->mend; });
    bool changed = drop(todo, edit);
    for (const Finding* finding : todo) {
      if (!apply(*finding, edit)) continue;
      plan_.steps.push_back(step_of(*finding));
      changed = true;
    }
    if (!changed) return false;
    ByteVector bytes = edit.bytes();
    changed = bytes != plan_.after;
    plan_.after = std::move(bytes);
    return changed;
  }

  bool drop(const std::vector<const Finding*>& todo, StateEdit& edit) {
    std::unordered_set<NodeId> ids;
    for (const Finding* finding : todo) {
      if (finding->repair->mend != Mend::kDropInode || !finding->inode) continue;
      ids.insert(*finding->inode);
      plan_.steps.push_back(step_of(*finding));
    }
    return edit.drop_inodes(ids);
  }

  // A step uncovered what no step mends: the state stays what it is.
  void give_up() {
    if (plan_.steps.empty()) return;
    plan_.steps.clear();
    plan_.after = plan_.before;
    plan_.left.push_back(fmt::format("with all that can be mended the verdict would be {}: nothing is changed",
                                     name_of(plan_.verdict)));
  }

  // When the state is as good as it gets: what the host needs, and what is left.
  void mend_host(const DeviceReport& report) {
    if (plan_.verdict != Verdict::kRepair) return;
    const auto decoded = decode(plan_.after, in_.destination.reader);
    if (decoded) host_.see(decoded->state);
    for (const Finding& finding : report.findings) {
      if (finding.verdict != Verdict::kRepair || !finding.repair) continue;
      const bool can = allowed(finding) && is_on_host(finding.repair->mend) && in_.options && in_.recorded;
      const std::string why_not = can ? host_.add(finding) : "";
      if (can && why_not.empty()) {
        plan_.steps.push_back(step_of(finding));
        host_.describe(finding, plan_.steps.back().precondition, plan_.steps.back().inverse);
        if (finding.repair->mend == Mend::kKeptBytes) lead_to_hidden(finding);
      } else {
        plan_.left.push_back(why_not.empty() ? told(finding) : fmt::format("{} ({})", told(finding), why_not));
      }
    }
  }

  // Not to be judged again: the file is not there yet.
  void lead_to_hidden(const Finding& finding) {
    auto decoded = decode(plan_.after, in_.destination.reader);
    if (!decoded || !finding.inode) return;
    StateEdit edit(*std::move(decoded));
    edit.give_path(*finding.inode, finding.repair->to);
    plan_.after = edit.bytes();
  }

  const DeviceInput& in_;
  Consent consent_;
  const Progress& progress_;
  const NodeMap* map_;
  SnapshotDevice device_;
  DevicePlan plan_;
  HostPlanner host_;
};

Result<std::optional<NodeMap>> node_map_in(sys::Calls& calls, const NodeMapFile& map, const Progress& progress) {
  if (map.path.empty()) return std::nullopt;
  progress(fmt::format("the node map {}", map.path));
  Result<NodeMap> read = read_node_map(calls, map.path);
  if (read) return *std::move(read);
  Error error = std::move(read).error().context("--nodemap");
  error.code = ErrorCode::kUsage;
  return tl::make_unexpected(std::move(error));
}

// Node ids mean nothing on another mount.
Result<void> device_of_map(const NodeMapFile& map, const std::vector<std::string>& ids) {
  const bool known = map.device.empty() ? ids.size() == 1 : std::ranges::find(ids, map.device) != ids.end();
  if (known) return {};
  return fail(ErrorCode::kUsage, fmt::format("--device: name the device whose mount the node map is of: one of {}",
                                             printable(fmt::format("{}", fmt::join(ids, ", ")))));
}

}  // namespace

DevicePlan plan_device(const DeviceInput& input, Consent consent, const Progress& progress, const NodeMap* map) {
  return DevicePlanner(input, consent, progress, map).run();
}

bool RepairPlan::has_steps() const {
  return std::ranges::any_of(devices, [](const DevicePlan& plan) { return !plan.steps.empty(); });
}

Result<RepairPlan> plan_repair(sys::Calls& calls, const CheckRequest& request, Consent consent,
                               const Progress& progress, const NodeMapFile& map) {
  RepairPlan plan;
  // Before another mount namespace may be entered, where the path means nothing.
  VFSMEND_TRY_ASSIGN(const std::optional<NodeMap> nodes, node_map_in(calls, map, progress));
  std::vector<std::string> ids;
  const auto judge = [&](const DeviceInput& input, const Progress& told_by) {
    ids.push_back(input.device.id);
    const bool mapped = nodes && (map.device.empty() || map.device == input.device.id);
    DeviceOutcome outcome = check_device(input, told_by);
    const Verdict verdict = outcome.report.verdict;
    // A device that was not named may have a map of its own, which comes by another repair.
    const bool named = !nodes || mapped;
    const bool mendable = named && (verdict == Verdict::kRepair || (mapped && verdict == Verdict::kResume));
    if (mendable && input.device.state) {
      DevicePlan device = plan_device(input, consent, told_by, mapped ? &*nodes : nullptr);
      if (!device.steps.empty() || !device.left.empty()) plan.devices.push_back(std::move(device));
    }
    return outcome;
  };
  VFSMEND_TRY_ASSIGN(plan.before, check_by(calls, request, progress, judge));
  // Where mending uncovers what cannot be mended, that is what there is to say.
  for (const DevicePlan& device : plan.devices) {
    const auto at = std::ranges::find(plan.before.devices, device.device, &DeviceReport::id);
    if (at == plan.before.devices.end() || worst(device.verdict, Verdict::kRepair) == Verdict::kRepair) continue;
    at->verdict = worst(at->verdict, device.verdict);
    plan.before.verdict = worst(plan.before.verdict, device.verdict);
  }
  if (nodes && !ids.empty()) VFSMEND_TRY(device_of_map(map, ids));
  return plan;
}

}  // namespace vfsmend
