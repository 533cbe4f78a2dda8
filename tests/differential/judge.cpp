// SPDX-License-Identifier: Apache-2.0
#include "judge.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <tuple>

#include "base/text.h"
#include "daemon/text_match.h"
#include "state/codec.h"
#include "verdict/device_check.h"
#include "verdict/host_walk.h"
#include "verdict/restore_model.h"
#include "verdict/start_rules.h"

namespace vfsmend::differential {
namespace {

using daemon::OpeningText;
using daemon::parted;
using daemon::without_numbers;

// "..Opening <dir>/<name>: .." twice, with all but <dir> the same: the two directories; empty for
// one that is printed as {fd:N}.
std::optional<std::pair<std::string, std::string>> directories_in(const std::string& a,
                                                                  const std::string& b) {
  constexpr std::string_view kOpening = "Opening ";
  const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const std::size_t opening = a.rfind(kOpening, static_cast<std::size_t>(at_a - a.begin()));
  if (opening == std::string::npos) return std::nullopt;
  const std::size_t begin = opening + kOpening.size();
  const std::string_view rest_a = std::string_view(a).substr(begin);
  const std::string_view rest_b = std::string_view(b).substr(begin);
  std::size_t same = static_cast<std::size_t>(
      std::mismatch(rest_a.rbegin(), rest_a.rend(), rest_b.rbegin(), rest_b.rend()).first -
      rest_a.rbegin());
  const std::size_t slash = a.find('/', a.size() - same);
  if (slash == std::string::npos) return std::nullopt;
  same = a.size() - slash;
  std::pair<std::string, std::string> found(a.substr(begin, slash - begin),
                                            b.substr(begin, b.size() - same - begin));
  for (std::string* directory : {&found.first, &found.second}) {
    if (*directory == "{fd:N}") directory->clear();
  }
  return found;
}

// The files that may be what a text calls `printed` (from `dir`, a slash before each name): names
// that are not UTF-8 are printed lossily, and more than one may be printed the same.
void find_printed(const std::string& dir, std::string_view printed, std::vector<struct stat>& out) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  if (!printed.starts_with('/') || printed.find(kReplacement) == std::string_view::npos) {
    struct stat stat {};
    if (::lstat((dir + std::string(printed)).c_str(), &stat) == 0) out.push_back(stat);
    return;
  }
  const std::size_t end = std::min(printed.find('/', 1), printed.size());
  const std::string_view component = printed.substr(1, end - 1);
  const std::unique_ptr<DIR, int (*)(DIR*)> names(::opendir(dir.c_str()), ::closedir);
  while (const dirent* entry = names ? ::readdir(names.get()) : nullptr) {
    if (utf8_lossy(entry->d_name) != component) continue;
    const std::string path = dir + "/" + entry->d_name;
    struct stat stat {};
    if (end < printed.size()) find_printed(path, printed.substr(end), out);
    else if (::lstat(path.c_str(), &stat) == 0) out.push_back(stat);
  }
}

// Texts that differ in one path only, where both are links of one file: a daemon that keeps handles
// finds one of them (and prints none that ends in " (deleted)").
bool links_of_one_file(const std::string& a, const std::string& b, const std::string& root) {
  const OpeningText parts_a = parted(a);
  const OpeningText parts_b = parted(b);
  std::string path_a = parts_a.path;
  std::string path_b = parts_b.path;
  if (parts_a.rest != parts_b.rest) {
    const auto directories = directories_in(without_numbers(a), without_numbers(b));
    if (!directories) return false;
    std::tie(path_a, path_b) = *directories;
  }
  const auto linked = [&](const std::string& path) {
    std::vector<struct stat> files;
    if (!path.empty()) find_printed(root, path, files);
    std::erase_if(files, [](const struct stat& file) { return file.st_nlink < 2; });
    return files;
  };
  const auto files_a = linked(path_a);
  const auto files_b = linked(path_b);
  if (files_a.empty() || files_b.empty()) {
    return (!files_a.empty() && path_b.empty()) || (!files_b.empty() && path_a.empty());
  }
  return std::any_of(files_a.begin(), files_a.end(), [&](const struct stat& one) {
    return std::any_of(files_b.begin(), files_b.end(), [&](const struct stat& other) {
      return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
    });
  });
}

class Comparison {
 public:
  Comparison(std::vector<std::string>& out, std::string root) : out_(out), root_(std::move(root)) {}

  void text(std::string_view what, const std::string& model, const std::string& daemon) {
    if (without_numbers(model) == without_numbers(daemon) || links_of_one_file(model, daemon, root_)) return;
    out_.push_back(fmt::format("{}: model \"{}\", daemon \"{}\"", what, model, daemon));
  }
  template <typename Id>
  void texts(std::string_view what, const std::map<Id, std::string>& model,
             const std::map<Id, std::string>& daemon) {
    for (const auto& [id, said] : model) {
      const auto there = daemon.find(id);
      // Which ones the descriptors were not enough for is in the lists of ids; the walk over the
      // host, from which these texts come, does not know it.
      constexpr std::string_view kUsedUp = "Too many open files in system (os error 23)";
      if (there != daemon.end() && !there->second.ends_with(kUsedUp)) text(fmt::format("{} {}", what, id), said, there->second);
    }
  }
  template <typename Id>
  void ids(std::string_view what, const std::vector<Id>& model, const std::map<Id, std::string>& daemon) {
    std::vector<Id> really;
    really.reserve(daemon.size());
    for (const auto& [id, said] : daemon) really.push_back(id);
    if (model != really) {
      out_.push_back(fmt::format("{}: model [{}], daemon [{}]", what, fmt::join(model, " "),
                                 fmt::join(really, " ")));
    }
  }
  // A directory that the guest does not know any more left the store when its last child was
  // loaded; a save brings it back under a new id, for its children alone.
  void remains(const Remains& model, Remains daemon) {
    std::erase_if(daemon.inodes, [&](const auto& at) {
      return at.second.lookups == 0 && !model.inodes.contains(at.first);
    });
    if (model == daemon) return;
    const auto list = [](const Remains& what) {
      std::string text;
      for (const auto& [id, left] : what.inodes) text += fmt::format(" {}x{}", id, left.lookups);
      for (const auto& [id, file] : what.handles) text += fmt::format(" h{}->{}:{:#x}", id, file.inode, file.flags);
      return text;
    };
    out_.push_back(fmt::format("saved again: model{}, daemon{}", list(model), list(daemon)));
  }

 private:
  std::vector<std::string>& out_;
  std::string root_;
};

Remains remains_in_model(const State& state, const NodeIndex& index, const LoadOrder& order) {
  Remains left;
  for (Slot slot = 0; slot < index.slot_count(); ++slot) {
    if (order.in_store[slot] == kNoIndex) continue;
    left.inodes[index.id_of(slot)] = {order.refcount[slot]};
  }
  for (const Handle& handle : state.handles) left.handles[handle.id] = {handle.inode, handle.flags};
  return left;
}

}  // namespace

Remains remains_of(Bytes saved) {
  Remains left;
  const auto decoded = decode(saved, Reader::kVirtiofsd);
  if (!decoded) return left;
  for (const Inode& inode : decoded->state.inodes) left.inodes[inode.id].lookups += inode.refcount;
  for (const Inode& inode : decoded->state.inodes) {
    if (const auto* path = location_as<Path>(inode)) --left.inodes[path->parent].lookups;
  }
  for (const Handle& handle : decoded->state.handles) {
    left.handles[handle.id] = {handle.inode, handle.flags};
  }
  return left;
}

Predicted predicted(Bytes bytes, const Destination& destination) {
  Predicted out;
  SnapshotDevice device;
  device.id = "raw";
  device.state = ByteVector(bytes.begin(), bytes.end());
  const DeviceOutcome outcome =
      check_device({sys::kernel(), device, ContainerKind::kRaw, destination}, [](std::string_view) {});
  out.restore = outcome.report.restore;
  if (destination.share_is_root()) out.root = destination.shared_dir;
  out.verdict = outcome.report.verdict;
  const Share share = open_share(sys::kernel(), destination);
  out.starts = !cannot_start(sys::kernel(), destination, share);
  const auto decoded = decode(bytes, destination.reader);
  if (!decoded || !share.fd.valid() || out.restore.outcome != Outcome::kSucceeds) return out;
  const State& state = decoded->state;
  const NodeIndex index(state);
  const LoadOrder order = load_order(state, index);
  const WalkInput input{sys::kernel(), state, index, order, destination, share};
  const HostWalk walk = walk_host(input);
  const LoaderTexts texts(input, walk);
  for (const NodeId id : out.restore.invalid_inodes) {
    const Slot slot = index.slot_of(id);
    const EntryIndex entry = order.in_store[slot];
    if (entry != kNoIndex && index.entries(slot).size() == 1) {
      out.inode_texts[id] = texts.reason(entry).text;
    }
  }
  std::map<HandleId, std::size_t> times;
  for (const Handle& handle : state.handles) ++times[handle.id];
  for (std::size_t i = 0; i < state.handles.size(); ++i) {
    const HandleId id = state.handles[i].id;
    const auto& invalid = out.restore.invalid_handles;
    if (times[id] == 1 && std::binary_search(invalid.begin(), invalid.end(), id)) {
      out.handle_texts[id] = texts.handle_reason(i).text;
    }
  }
  out.remains = remains_in_model(state, index, order);
  return out;
}

std::vector<std::string> differences(const Predicted& model, const Seen& seen) {
  std::vector<std::string> out;
  Comparison compare(out, model.root);
  const auto end = [&](std::string_view daemon) {
    out.push_back(fmt::format("outcome: model {} ({}), daemon {}", name_of(model.restore.outcome),
                              model.restore.error.value_or(""), daemon));
  };
  const std::string error = model.restore.error.value_or("");
  if (seen.end != Seen::End::kLoaded && model.verdict == Verdict::kResume) {
    out.emplace_back("verdict: resume, and it does not load");
  }
  switch (seen.end) {
    case Seen::End::kNotStarted:
      if (model.starts) end("does not start: " + seen.log.other);
      else if (seen.log.other.find(error) == std::string::npos) compare.text("start", error, seen.log.other);
      return out;
    case Seen::End::kHung:
      if (model.restore.outcome != Outcome::kHangs) end("hangs");
      return out;
    case Seen::End::kFailed:
      if (model.restore.outcome != Outcome::kFails || !model.starts) end("fails: " + seen.log.load_error.value_or("?"));
      else compare.text("error", error, seen.log.load_error.value_or(""));
      return out;
    case Seen::End::kLoaded: break;
  }
  if (model.restore.outcome != Outcome::kSucceeds || !model.starts) {
    end("loads");
    return out;
  }
  compare.ids("invalid inodes", model.restore.invalid_inodes, seen.log.invalid_inodes);
  compare.ids("invalid handles", model.restore.invalid_handles, seen.log.invalid_handles);
  compare.texts("inode", model.inode_texts, seen.log.invalid_inodes);
  compare.texts("handle", model.handle_texts, seen.log.invalid_handles);
  if (model.remains && seen.remains) compare.remains(*model.remains, *seen.remains);
  return out;
}

}  // namespace vfsmend::differential
