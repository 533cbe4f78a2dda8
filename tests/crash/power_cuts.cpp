// SPDX-License-Identifier: Apache-2.0
#include "power_cuts.h"

#include <functional>
#include <set>
#include <stdexcept>

namespace vfsmend::test {
namespace {

using Kind = Change::Kind;

void change_content(DiskFile& file, const Change& change) {
  switch (change.kind) {
    case Kind::kWrite:
      if (file.bytes.size() < change.offset + change.bytes.size()) {
        file.bytes.resize(change.offset + change.bytes.size());
      }
      file.bytes.replace(change.offset, change.bytes.size(), change.bytes);
      break;
    case Kind::kTruncate: file.bytes.resize(change.offset); break;
    case Kind::kLooks:
      file.mode = change.mode;
      file.owner = change.owner;
      file.group = change.group;
      if (change.mtime_ns != 0) file.mtime_ns = change.mtime_ns;
      break;
    default: throw std::logic_error("no change of a content");
  }
}

void change_names(Disk& disk, const Change& change) {
  for (const auto& [path, file] : change.names) {
    if (file < 0) disk.names.erase(path);
    else disk.names[path] = file;
  }
}

// What is on the disk for sure, and what may be.
class Cutter {
 public:
  explicit Cutter(const Disk& start) : sure_(start) {}

  void play(const Change& change) {
    switch (change.kind) {
      case Kind::kWrite:
      case Kind::kTruncate:
      case Kind::kLooks: contents_[change.file].push_back(&change); break;
      case Kind::kNames: names_.push_back(&change); break;
      case Kind::kSyncFile:
        for (const Change* one : contents_[change.file]) change_content(sure_.files[change.file], *one);
        contents_.erase(change.file);
        break;
      case Kind::kSyncNames:
        for (const Change* one : names_) {
          if (one->directory == change.directory) change_names(sure_, *one);
        }
        std::erase_if(names_, [&](const Change* one) { return one->directory == change.directory; });
        break;
    }
  }

  void cut(const std::function<void(const Disk&)>& found) const {
    constexpr std::size_t kMost = 16;
    if (names_.size() > kMost) throw std::runtime_error("too many names wait for a sync");
    for (std::size_t chosen = 0; chosen < std::size_t{1} << names_.size(); ++chosen) {
      Disk disk = sure_;
      for (std::size_t i = 0; i < names_.size(); ++i) {
        if ((chosen >> i & 1) != 0) change_names(disk, *names_[i]);
      }
      cut_contents(disk, contents_.begin(), found);
    }
  }

 private:
  using Contents = std::map<int, std::vector<const Change*>>;

  void cut_contents(const Disk& disk, Contents::const_iterator at,
                    const std::function<void(const Disk&)>& found) const {
    if (at == contents_.end()) return found(disk);
    const auto next = std::next(at);
    cut_contents(disk, next, found);  // nothing of it
    bool has_name = false;
    for (const auto& [path, file] : disk.names) has_name = has_name || file == at->first;
    if (!has_name) return;
    Disk all = disk;
    for (const Change* one : at->second) change_content(all.files[at->first], *one);
    cut_contents(all, next, found);
    const std::string bytes = all.files[at->first].bytes;
    if (bytes.empty()) return;
    all.files[at->first].bytes = bytes.substr(0, bytes.size() / 2);
    cut_contents(all, next, found);
    all.files[at->first].bytes = std::string(bytes.size(), '\0');
    cut_contents(all, next, found);
  }

  Disk sure_;
  std::vector<const Change*> names_;
  Contents contents_;
};

}  // namespace

PowerCuts power_cuts(const Disk& start, const std::vector<Change>& log) {
  PowerCuts out;
  std::set<std::string> seen;
  const auto found = [&](const Disk& disk) {
    ++out.states;
    if (seen.insert(disk.text()).second) out.different.push_back(disk);
  };
  Cutter cutter(start);
  cutter.cut(found);
  for (const Change& change : log) {
    cutter.play(change);
    cutter.cut(found);
  }
  cutter.cut([&](const Disk& disk) { out.at_end.push_back(disk); });
  return out;
}

}  // namespace vfsmend::test
