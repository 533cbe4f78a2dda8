// SPDX-License-Identifier: Apache-2.0
#include "report/text_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "report/layout.h"

namespace vfsmend {
namespace {

constexpr std::size_t kIndent = 2;

struct Group {
  Code code{};
  Verdict verdict = Verdict::kResume;
  std::vector<const Finding*> findings;
};

// One screen: five subjects where one code is all there is, three where several want room.
std::size_t handful(std::size_t groups) { return groups < 2 ? 5 : 3; }

std::vector<Group> group_by_code(const std::vector<Finding>& findings) {
  std::vector<Group> groups;
  for (const Finding& finding : findings) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& g) { return g.code == finding.code; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{finding.code, {}, {}});
    group->verdict = worst(group->verdict, finding.verdict);
    group->findings.push_back(&finding);
  }
  return groups;
}

// A path that fills the screen is of no use on it; JSON has it whole.
std::string shown_path(const std::string& path) {
  constexpr std::size_t kLongest = 400;
  constexpr std::size_t kHead = 100;
  constexpr std::size_t kTail = 200;
  if (path.size() <= kLongest) return printable(path);
  return fmt::format("{}[..{}-bytes..]{}", printable(path.substr(0, kHead)),
                     path.size() - kHead - kTail, printable(path.substr(path.size() - kTail)));
}

// "inode 3, handle 0", but for what the message begins with.
std::string numbers_of(const Finding& finding) {
  std::string out;
  if (finding.inode) out = fmt::format("inode {}", *finding.inode);
  if (finding.message.starts_with(out + ' ')) out.clear();
  if (finding.handle) out += fmt::format("{}handle {}", out.empty() ? "" : ", ", *finding.handle);
  if (finding.open && !finding.handle) out += out.empty() ? "open" : ", open";
  return out;
}

// "d/gone (inode 3, open): why", and the path only once.
std::string subject_of(const Finding& finding) {
  const std::string numbers = numbers_of(finding);
  const bool path = !finding.path.empty() &&
                    finding.message.find(finding.path) == std::string::npos;
  std::string out = path ? shown_path(finding.path) : "";
  if (!numbers.empty()) out += out.empty() ? numbers : fmt::format(" ({})", numbers);
  if (!out.empty() && !finding.message.empty()) out += ": ";
  return out + printable(finding.message);
}

std::string remedy_of(const Finding& finding) {
  if (!finding.repair) return "";
  return printable(finding.repair->action) + (finding.repair->safe ? " (safe)" : "");
}

// The text that all of them share, or what stands for the first ones each by itself.
template <typename F>
std::string shared_text(const Group& group, std::size_t shown, F text_of) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(shown, group.findings.size()); ++i) {
    std::string text = text_of(*group.findings[i]);
    if (text.empty() || std::find(texts.begin(), texts.end(), text) != texts.end()) continue;
    texts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string casualties_of(const Group& group) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> all;
  for (const Finding* finding : group.findings) {
    if (!finding->repair) continue;
    for (const std::string& text : finding->repair->casualties) {
      if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(printable(text));
    }
  }
  const std::size_t more = all.size() > kShown ? all.size() - kShown : 0;
  all.resize(all.size() - more);
  std::string out = fmt::format("{}", fmt::join(all, ", "));
  return more == 0 ? out : fmt::format("{} and {} more", out, more);
}

std::string line(std::string_view text, std::size_t indent, std::size_t hang,
                 const TextStyle& style) {
  return std::string(indent, ' ') + wrap(text, style.width, indent + hang, indent) + '\n';
}

std::string heading(const Group& group, std::uint64_t count, const TextStyle& style) {
  const CodeInfo& code = info(group.code);
  const std::string number = count == 1 ? "" : fmt::format(" ({} times)", count);
  const std::string verdict(name_of(group.verdict));
  const std::size_t used = code.id.size() + 1;
  return paint(code.id, paint_of(group.verdict), style) + ' ' +
         wrap(fmt::format("{}: {}{}", verdict, code.name, number), style.width, used, used) + '\n';
}

std::string group_text(const Group& group, std::uint64_t count, std::size_t shown,
                       const TextStyle& style) {
  std::string out = heading(group, count, style);
  if (count == shown + 1) ++shown;  // "and 1 more" takes as much room as the one
  std::set<std::string> told;
  std::size_t subjects = 0;
  for (const Finding* finding : group.findings) {
    if (subjects == shown) break;
    const std::string subject = subject_of(*finding);
    if (!told.insert(subject).second) continue;
    out += line("- " + subject, kIndent, 2, style);
    ++subjects;
  }
  if (count > subjects) {
    out += line(fmt::format("- and {} more", count - subjects), kIndent, 2, style);
  }
  const auto common = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) out += line(fmt::format("{}: {}", name, text), kIndent, 2, style);
  };
  common("the guest sees", shared_text(group, shown, [](const Finding& finding) {
           return printable(finding.guest_sees);
         }));
  common("repair", shared_text(group, shown, remedy_of));
  common("it costs", casualties_of(group));
  return out;
}

}  // namespace

std::string findings_text(const std::vector<Finding>& findings,
                          const std::map<std::string, std::uint64_t>& counts,
                          const TextStyle& style) {
  const std::vector<Group> groups = group_by_code(findings);
  std::string out = groups.empty() ? "" : "\n";
  for (const Group& group : groups) {
    const auto counted = counts.find(std::string(info(group.code).id));
    const std::uint64_t count = std::max<std::uint64_t>(
        group.findings.size(), counted == counts.end() ? 0 : counted->second);
    out += group_text(group, count, handful(groups.size()), style);
  }
  return out;
}

}  // namespace vfsmend
