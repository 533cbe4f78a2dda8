// SPDX-License-Identifier: Apache-2.0
#include "manifest/section_head.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "state/postcard.h"

namespace vfsmend {
namespace {

using postcard::Sink;
using postcard::Source;

// Fewest bytes an item takes: with it and `memory` a count can ask for no more than is there.
constexpr std::size_t kSmallestFact = 2;
constexpr std::size_t kSmallestMount = 7;

void put(Sink& out, const Facts& facts) {
  out.u64(facts.size());
  for (const auto& [key, value] : facts) {
    out.string(key);
    out.string(value);
  }
}

class HeadReader {
 public:
  HeadReader(Bytes raw, std::uint64_t& memory) : in_(raw), memory_(memory) {}

  Facts facts() {
    Facts out;
    list(kSmallestFact, out, [this] {
      std::string key = text();
      return std::pair(std::move(key), text());
    });
    return out;
  }

  std::uint64_t section(ManifestSection& out) {
    out.device = text();
    out.share = text();
    out.real_share = text();
    out.fs_magic = in_.u64();
    out.fs_id = in_.u64();
    out.whole_tree = in_.boolean();
    out.facts = facts();
    list(1, out.devices, [this] { return in_.u64(); });
    list(1, out.xattr_sets, [this] { return facts(); });
    list(kSmallestMount, out.mounts, [this] { return mount(); });
    return in_.u64();
  }

  // Whether all went well and nothing is left.
  [[nodiscard]] Result<void> end() const {
    if (over_) return fail(ErrorCode::kLimit, "more memory than a manifest may take");
    if (!in_.ok()) {
      return fail(ErrorCode::kFormat, fmt::format("its byte {}: {}", in_.error_at(),
                                                  postcard::text_of(in_.error())));
    }
    if (in_.left() == 0) return {};
    return fail(ErrorCode::kFormat, fmt::format("its byte {}: {} bytes behind its end",
                                                in_.offset(), in_.left()));
  }

 private:
  std::string text() { return std::string(as_text(in_.bytes())); }

  ManifestMount mount() {
    ManifestMount out;
    out.id = in_.u64();
    out.place = text();
    out.fs_type = text();
    out.source = text();
    out.options = text();
    out.read_only = in_.boolean();
    out.super_read_only = in_.boolean();
    return out;
  }

  template <typename Item, typename ReadItem>
  void list(std::size_t smallest, std::vector<Item>& out, ReadItem read) {
    std::size_t room = 0;
    const std::uint64_t count = in_.count(smallest, room);
    if (!in_.ok() || over_) return;
    over_ = room > memory_ / sizeof(Item);
    if (over_) return;
    memory_ -= room * sizeof(Item);
    out.reserve(room);
    for (std::uint64_t i = 0; i < count; ++i) {
      Item item = read();
      if (!in_.ok() || over_) return;
      out.push_back(std::move(item));
    }
  }

  Source in_;
  std::uint64_t& memory_;
  bool over_ = false;
};

tl::unexpected<Error> wrong(const char* column, std::size_t i, std::string text) {
  return fail(ErrorCode::kFormat, fmt::format("{}[{}]: {}", column, i, text));
}

// Names ascend, and have none twice. The first set is the empty one.
Result<void> check_xattr_sets(const std::vector<XattrSet>& sets) {
  if (!sets.empty() && !sets.front().empty()) return wrong("xattr_sets", 0, "not the empty one");
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (std::size_t k = 1; k < sets[i].size(); ++k) {
      if (sets[i][k - 1].first >= sets[i][k].first) {
        return wrong("xattr_sets", i, fmt::format("name {} does not ascend", k));
      }
    }
  }
  return {};
}

Result<void> check_positions(const char* column, const Column<std::uint32_t>& positions,
                             std::size_t size) {
  std::uint32_t last = 0;  // without a branch, so that many are looked at at a time
  for (const std::uint32_t position : positions.held()) last = std::max(last, position);
  if (positions.empty() || last < size) return {};
  const auto found = std::find_if(positions.begin(), positions.end(),
                                  [size](std::uint32_t position) { return position >= size; });
  return wrong(column, static_cast<std::size_t>(std::distance(positions.begin(), found)),
               fmt::format("position {} of {}", *found, size));
}

Result<void> check_parents(const Column<std::uint32_t>& parents) {
  for (std::size_t i = 0; i < parents.size(); ++i) {
    if (parents[i] >= i && parents[i] != kNoParent) {
      return wrong("parent", i, fmt::format("{} does not stand before it", parents[i]));
    }
  }
  return {};
}

}  // namespace

ByteVector encode_facts(const Facts& facts) {
  ByteVector bytes;
  Sink out(bytes);
  put(out, facts);
  return bytes;
}

ByteVector encode_section_head(const ManifestSection& section) {
  ByteVector bytes;
  Sink out(bytes);
  out.string(section.device);
  out.string(section.share);
  out.string(section.real_share);
  out.u64(section.fs_magic);
  out.u64(section.fs_id);
  out.boolean(section.whole_tree);
  put(out, section.facts);
  out.u64(section.devices.size());
  for (const std::uint64_t device : section.devices) out.u64(device);
  out.u64(section.xattr_sets.size());
  for (const XattrSet& set : section.xattr_sets) put(out, set);
  out.u64(section.mounts.size());
  for (const ManifestMount& mount : section.mounts) {
    out.u64(mount.id);
    out.string(mount.place);
    out.string(mount.fs_type);
    out.string(mount.source);
    out.string(mount.options);
    out.boolean(mount.read_only);
    out.boolean(mount.super_read_only);
  }
  out.u64(section.entries.size_of());
  return bytes;
}

Result<Facts> decode_facts(Bytes raw, std::uint64_t& memory) {
  HeadReader reader(raw, memory);
  Facts facts = reader.facts();
  VFSMEND_TRY(reader.end());
  return facts;
}

Result<std::uint64_t> decode_section_head(Bytes raw, std::uint64_t& memory,
                                          ManifestSection& section) {
  HeadReader reader(raw, memory);
  const std::uint64_t entries = reader.section(section);
  VFSMEND_TRY(reader.end());
  return entries;
}

Result<void> check_consistent(const ManifestSection& section) {
  const EntryTable& e = section.entries;
  VFSMEND_TRY(check_xattr_sets(section.xattr_sets));
  VFSMEND_TRY(check_positions("device", e.device, section.devices.size()));
  VFSMEND_TRY(check_positions("xattrs", e.xattrs, section.xattr_sets.size()));
  return check_parents(e.parent);
}

}  // namespace vfsmend
