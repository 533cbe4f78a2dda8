// SPDX-License-Identifier: Apache-2.0
#include "manifest/table_builder.h"

#include <map>
#include <unordered_map>

#include "base/text.h"

namespace vfsmend {
namespace {

class TableBuilder {
 public:
  TreeLook build(const Directories& directories) {
    std::size_t count = 0;
    bool hashed = false;
    for (const Directory& directory : directories.all()) {
      count += directory.objects.size();
      for (const SeenObject& object : directory.objects) hashed |= (object.notes & kHasHash) != 0;
    }
    out_.xattr_sets.emplace_back();
    reserve(count);
    if (hashed) out_.entries.hash.reserve(count);
    std::vector<std::pair<const Directory*, std::uint32_t>> waiting = {
        {&directories.all().front(), kNoParent}};
    for (std::size_t next = 0; next < waiting.size(); ++next) {
      const auto [directory, parent] = waiting[next];
      for (std::size_t i = 0; i < directory->objects.size(); ++i) {
        const auto position = static_cast<std::uint32_t>(out_.entries.size_of());
        add(*directory, i, parent);
        if (hashed) out_.entries.hash.push_back(directory->objects[i].hash);
        const Directory* below = directory->objects[i].below;
        if (below != nullptr) waiting.emplace_back(below, position);
      }
    }
    return std::move(out_);
  }

 private:
  void reserve(std::size_t count) {
    EntryTable& e = out_.entries;
    for (auto* column : {&e.parent, &e.mode, &e.uid, &e.gid, &e.nlink, &e.device, &e.xattrs}) {
      column->reserve(count);
    }
    for (auto* column : {&e.node, &e.size, &e.ino, &e.rdev}) column->reserve(count);
    for (auto* column : {&e.mtime, &e.ctime, &e.btime}) column->reserve(count);
    e.handle_type.reserve(count);
    e.notes.reserve(count);
  }

  void add(const Directory& directory, std::size_t at, std::uint32_t parent) {
    const SeenObject& object = directory.objects[at];
    const ObjectFacts& facts = object.facts;
    EntryTable& e = out_.entries;
    e.parent.push_back(parent);
    e.name.add(directory.names[at]);
    e.node.push_back(object.node);
    e.mode.push_back(facts.mode);
    e.uid.push_back(facts.uid);
    e.gid.push_back(facts.gid);
    e.nlink.push_back(facts.nlink);
    e.size.push_back(facts.size);
    e.device.push_back(device(facts.device));
    e.ino.push_back(facts.ino);
    e.rdev.push_back(facts.rdev);
    const bool known = object.is_known();
    e.mtime.push_back(known ? facts.mtime : kNoTime);
    e.ctime.push_back(known ? facts.ctime : kNoTime);
    e.btime.push_back(known ? facts.btime : kNoTime);
    add_bytes(directory, at);
    add_notes(directory, at);
  }

  void add_bytes(const Directory& directory, std::size_t at) {
    const SeenObject& object = directory.objects[at];
    EntryTable& e = out_.entries;
    const Directory::Piece& piece = directory.pieces[at / Directory::kPiece];
    const std::string_view bytes(piece.bytes);
    e.handle_type.push_back(object.handle_type);
    e.handle.add(bytes.substr(object.bytes_at, object.handle_size));
    e.target.add(bytes.substr(object.bytes_at + object.handle_size, object.target_size));
    std::uint32_t set = 0;
    if (object.xattrs != 0) {
      const XattrSet& found = piece.xattrs[object.xattrs - 1];
      const auto [known, is_new] =
          sets_.try_emplace(found, static_cast<std::uint32_t>(out_.xattr_sets.size()));
      if (is_new) out_.xattr_sets.push_back(found);
      set = known->second;
    }
    e.xattrs.push_back(set);
  }

  void add_notes(const Directory& directory, std::size_t at) {
    const SeenObject& object = directory.objects[at];
    const auto entry = static_cast<std::uint32_t>(out_.entries.size_of() - 1);
    std::uint8_t notes = object.notes;
    const auto tell = [&](TreeNote::Kind kind) {
      out_.notes.push_back({kind, entry, object.look.err, object.look.what});
    };
    if (!is_utf8(directory.names[at])) tell(TreeNote::Kind::kNotUtf8);
    if (object.not_hashed) tell(TreeNote::Kind::kNotHashed);
    switch (object.look.end) {
      case LookEnd::kWhole: break;
      case LookEnd::kVanished:
        notes |= kVanished;
        tell(TreeNote::Kind::kVanished);
        break;
      case LookEnd::kChanging:
        notes |= kChangedMeanwhile;
        tell(TreeNote::Kind::kChanging);
        break;
      case LookEnd::kUnreadable:
        notes |= kUnreadable;
        tell(TreeNote::Kind::kUnreadable);
        break;
    }
    out_.entries.notes.push_back(notes);
  }

  std::uint32_t device(std::uint64_t number) {
    if (!out_.devices.empty() && out_.devices[last_device_] == number) return last_device_;
    const auto [known, is_new] =
        devices_.try_emplace(number, static_cast<std::uint32_t>(out_.devices.size()));
    if (is_new) out_.devices.push_back(number);
    return last_device_ = known->second;
  }

  TreeLook out_;
  std::map<XattrSet, std::uint32_t> sets_;
  std::unordered_map<std::uint64_t, std::uint32_t> devices_;
  std::uint32_t last_device_ = 0;
};

}  // namespace

TreeLook build_table(const Directories& directories) {
  return TableBuilder().build(directories);
}

std::string path_of(const EntryTable& entries, std::uint32_t entry) {
  constexpr std::size_t kLongest = 4096;
  std::string path;
  for (; entries.parent[entry] != kNoParent; entry = entries.parent[entry]) {
    const std::string_view name = entries.name[entry];
    if (path.size() + name.size() > kLongest) return "../" + path;
    path.insert(0, path.empty() ? "" : "/").insert(0, name);
  }
  return path;
}

}  // namespace vfsmend
