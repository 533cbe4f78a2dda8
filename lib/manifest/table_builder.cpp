// SPDX-License-Identifier: Apache-2.0
#include "manifest/table_builder.h"

#include <deque>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace vfsmend {
namespace {

constexpr std::size_t kWorthAThread = 4'096;  // entries
// Bytes between what two threads write to all the time. On one cache line they take longer than one
// thread would for both.
constexpr std::size_t kApart = 128;
constexpr std::uint64_t kMemoryPerEntry = 112;  // bytes: its columns, and what packs one of them

// A directory, and where it stands in the table itself.
struct Placed {
  const Directory* directory = nullptr;
  std::uint32_t parent = kNoParent;
};

// Breadth first.
std::vector<Placed> placed(const std::deque<Directory>& all) {
  std::vector<Placed> out = {{&all.front(), kNoParent}};
  out.reserve(all.size());
  std::uint32_t position = 0;
  for (std::size_t next = 0; next < out.size(); ++next) {
    for (const SeenObject& object : out[next].directory->objects) {
      if (object.below != 0) out.push_back({&all[object.below - 1], position});
      ++position;
    }
  }
  return out;
}

// The columns that are numbers of an object by itself. Those that are the same for all objects of most
// shares get no room before they need it.
class alignas(kApart) NumberBuilder {
 public:
  void reserve(std::size_t count) {
    for (auto* column : {&e_.parent, &e_.mode, &e_.nlink}) column->reserve(count);
    for (auto* column : {&e_.size, &e_.ino}) column->reserve(count);
    for (auto* column : {&e_.mtime, &e_.ctime, &e_.btime}) column->reserve(count);
  }

  // What was built, in a table that has no other columns yet.
  void finish(TreeLook& out) {
    out.entries = std::move(e_);
    out.devices = std::move(device_list_);
  }

  void add(const SeenObject& object, std::uint32_t parent, const Uncommon* uncommon, bool known) {
    e_.parent.push_back(parent);
    e_.node.push_back(object.node);
    e_.mode.push_back(object.mode);
    e_.uid.push_back(object.uid);
    e_.gid.push_back(object.gid);
    e_.nlink.push_back(object.nlink);
    e_.size.push_back(object.size);
    e_.device.push_back(device(object.device));
    e_.ino.push_back(object.ino);
    e_.rdev.push_back(uncommon == nullptr ? 0 : uncommon->rdev);
    e_.mtime.push_back(known ? object.mtime : kNoTime);
    e_.ctime.push_back(known ? object.ctime : kNoTime);
    e_.btime.push_back(known ? object.btime : kNoTime);
    e_.handle_type.push_back(object.handle_type);
  }

 private:
  std::uint32_t device(std::uint64_t number) {
    if (!device_list_.empty() && device_list_[last_device_] == number) return last_device_;
    const auto [known, is_new] =
        devices_.try_emplace(number, static_cast<std::uint32_t>(device_list_.size()));
    if (is_new) device_list_.push_back(number);
    return last_device_ = known->second;
  }

  EntryTable e_;
  std::vector<std::uint64_t> device_list_;
  std::unordered_map<std::uint64_t, std::uint32_t> devices_;
  std::uint32_t last_device_ = 0;
};

// The other columns, and what is to be told.
class alignas(kApart) TextBuilder {
 public:
  explicit TextBuilder(const Directories& directories) : directories_(directories) {
    out_.xattr_sets.emplace_back();
  }

  // Adds what was built.
  void finish(TreeLook& out) {
    EntryTable& built = out_.entries;
    out.entries.name = std::move(built.name);
    out.entries.handle = std::move(built.handle);
    out.entries.target = std::move(built.target);
    out.entries.xattrs = std::move(built.xattrs);
    out.entries.notes = std::move(built.notes);
    out.entries.hash = std::move(built.hash);
    out.xattr_sets = std::move(out_.xattr_sets);
    out.notes = std::move(out_.notes);
  }

  void reserve(std::size_t count, std::span<const Placed> order) {
    std::size_t names = 0;
    std::size_t handles_and_targets = 0;
    for (const auto& [directory, parent] : order) {
      names += directory->text.size();
      for (const Piece& piece : directory->pieces) handles_and_targets += piece.bytes.size();
    }
    out_.entries.name.reserve(count, names);
    out_.entries.handle.reserve(count, handles_and_targets);
  }

  void add(const Directory& directory, std::size_t at) {
    const SeenObject& object = directory.objects[at];
    const Uncommon* const uncommon = directory.uncommon(at);
    const std::string_view bytes = directory.pieces[at / kPieceSize].bytes;
    EntryTable& e = out_.entries;
    e.name.add(directory.name(at));
    e.handle.add(bytes.substr(object.bytes_at, object.handle_size));
    e.target.add(bytes.substr(object.bytes_at + object.handle_size, object.target_size));
    e.xattrs.push_back(uncommon == nullptr ? 0 : set_of(uncommon->xattrs));
    // From the first that has one on, each has a place for it.
    if ((object.notes & kHasHash) != 0) e.hash.resize(e.notes.size());
    if (!e.hash.empty() || (object.notes & kHasHash) != 0) {
      e.hash.push_back(uncommon == nullptr ? ContentHash{} : uncommon->hash);
    }
    add_notes(directory, at, uncommon);
  }

 private:
  std::uint32_t set_of(const XattrSet& found) {
    if (found.empty()) return 0;
    const auto [known, is_new] =
        sets_.try_emplace(found, static_cast<std::uint32_t>(out_.xattr_sets.size()));
    if (is_new) out_.xattr_sets.push_back(found);
    return known->second;
  }

  void add_notes(const Directory& directory, std::size_t at, const Uncommon* uncommon) {
    const Look look = directories_.look_of(directory, at);
    const auto entry = static_cast<std::uint32_t>(out_.entries.notes.size());
    std::uint8_t notes = directory.objects[at].notes;
    const auto tell = [&](TreeNote::Kind kind) {
      out_.notes.push_back({kind, entry, look.err, look.what});
    };
    if (uncommon != nullptr && uncommon->not_utf8) tell(TreeNote::Kind::kNotUtf8);
    if (uncommon != nullptr && uncommon->not_hashed) tell(TreeNote::Kind::kNotHashed);
    switch (look.end) {
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

  const Directories& directories_;
  TreeLook out_;
  std::map<XattrSet, std::uint32_t> sets_;
};

void build_numbers(const Directories& directories, std::span<const Placed> order,
                   NumberBuilder& builder) {
  for (const auto& [directory, parent] : order) {
    for (std::size_t i = 0; i < directory->objects.size(); ++i) {
      builder.add(directory->objects[i], parent, directory->uncommon(i),
                  is_known(directories.look_of(*directory, i).end));
    }
  }
}

// One after the other without a `second`.
void do_all(sys::SecondThread* second, const std::function<void()>& one, const std::function<void()>& other) {
  if (second != nullptr) return second->do_both(one, other);
  one();
  other();
}

void build_texts(std::span<const Placed> order, TextBuilder& builder) {
  for (const auto& [directory, parent] : order) {
    for (std::size_t i = 0; i < directory->objects.size(); ++i) builder.add(*directory, i);
  }
}

}  // namespace

TreeLook build_table(const Directories& directories, sys::SecondThread& second,
                     const std::function<void(std::uint64_t bytes)>& expect_memory) {
  std::size_t count = 0;
  for (const Directory& each : directories.all()) count += each.objects.size();
  const bool large = count >= kWorthAThread;
  std::vector<Placed> order;
  const auto place_all = [&] { order = placed(directories.all()); };
  const auto fetch = [&] {
    if (expect_memory) expect_memory(count * kMemoryPerEntry);
  };
  do_all(large ? &second : nullptr, place_all, fetch);
  // What they need is taken by this thread: the heap that was made ready is its own.
  NumberBuilder numbers;
  TextBuilder texts(directories);
  numbers.reserve(count);
  texts.reserve(count, order);
  const auto add_numbers = [&] { build_numbers(directories, order, numbers); };
  const auto add_texts = [&] { build_texts(order, texts); };
  do_all(large ? &second : nullptr, add_numbers, add_texts);
  TreeLook out;
  numbers.finish(out);
  texts.finish(out);
  return out;
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
