// SPDX-License-Identifier: Apache-2.0
#include "damage.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <utility>

#include "state/codec.h"

namespace vfsmend::differential {
namespace {

// The state under damage, the place that a step means, and strings that have to live on.
struct Patient {
  State state;
  Dialect dialect = Dialect::kV2;
  std::deque<std::string> texts;
  std::deque<ByteVector> handles;

  std::string_view keep(std::string text) { return texts.emplace_back(std::move(text)); }
};

using Treatment = std::function<void(Patient&, std::uint64_t n, std::uint64_t m)>;

Inode* inode(Patient& p, std::uint64_t n) {
  return p.state.inodes.empty() ? nullptr : &p.state.inodes[n % p.state.inodes.size()];
}
Handle* handle(Patient& p, std::uint64_t n) {
  return p.state.handles.empty() ? nullptr : &p.state.handles[n % p.state.handles.size()];
}
// An id of the state, or one near its end that is not.
NodeId some_id(Patient& p, std::uint64_t m) {
  const std::uint64_t places = p.state.inodes.size() + 2;
  const std::uint64_t at = m % places;
  return at < p.state.inodes.size() ? p.state.inodes[at].id : p.state.next_inode + at;
}

template <typename F>
Treatment on_inode(F f) {
  return [f](Patient& p, std::uint64_t n, std::uint64_t m) {
    if (Inode* at = inode(p, n)) f(p, *at, m);
  };
}
template <typename F>
Treatment on_handle(F f) {
  return [f](Patient& p, std::uint64_t n, std::uint64_t m) {
    if (Handle* at = handle(p, n)) f(p, *at, m);
  };
}
template <typename F>
Treatment on_path(F f) {
  return on_inode([f](Patient& p, Inode& at, std::uint64_t m) {
    if (auto* path = std::get_if<Path>(&at.location)) f(p, *path, m);
  });
}

void rename(Patient& p, Path& path, std::uint64_t m) {
  using std::string_literals::operator""s;
  // None leads further up than the directory of the case: what is opened there is its own. What is
  // absolute does not exist outside a sandbox.
  const std::array<std::string, 20> names = {
      "", ".", "..", "a", "b", "sub/a", "a/", "../share", "na\0me"s, std::string(256, 'x'), "nowhere",
      std::string(path.filename) + "x", "./" + std::string(path.filename), "sub/../a", "a//b", "c/./d",
      "/vfsmend-nowhere", "/vfsmend-nowhere/../a", std::string(4095, 'p'), std::string(4096, 'p')};
  path.filename = p.keep(names[m % names.size()]);
}

void flip(std::uint8_t& byte, std::uint64_t bit) {
  byte = static_cast<std::uint8_t>(byte ^ (1U << (bit % 8)));
}

void change_handle(Patient& p, FileHandle& handle, std::uint64_t m) {
  ByteVector& bytes = p.handles.emplace_back(handle.data.begin(), handle.data.end());
  switch (m % 6) {
    case 0: if (!bytes.empty()) flip(bytes[m / 6 % bytes.size()], m / 7); break;
    case 1: handle.type ^= 1 << (m / 6 % 31); break;
    case 2: handle.mount_id += 1 + m / 6 % 3; break;
    case 3: bytes.resize(bytes.size() / 2); break;
    case 4: bytes.resize(129, 7); break;
    default: bytes.clear(); break;
  }
  handle.data = bytes;
}

std::int32_t odd_flags(std::uint64_t m) {
  constexpr std::array kBits = {O_RDONLY, O_WRONLY, O_RDWR, 3, O_CREAT, O_EXCL, O_TRUNC, O_APPEND,
                                O_DIRECT, O_DIRECTORY, O_NOFOLLOW, O_NOATIME, O_PATH, O_TMPFILE,
                                O_SYNC, O_ASYNC, O_NONBLOCK, 1 << 30};
  return kBits[m % kBits.size()] | kBits[m / kBits.size() % kBits.size()] |
         (m % 5 == 0 ? kBits[m / 400 % kBits.size()] : 0);
}

void change_options(Patient& p, std::uint64_t n, std::uint64_t) {
  auto& options = p.state.options;
  bool* const all[] = {&options.writeback, &options.announce_submounts, &options.posix_acl,
                       &options.sup_group_extension};
  *all[n % 4] ^= true;
}

void change_mount_paths(Patient& p, std::uint64_t n, std::uint64_t m) {
  auto& paths = p.state.mount_paths;
  const std::array<std::string_view, 7> places = {"", ".", "a", "sub", "nowhere", "../share", "d/e"};
  const std::string_view place = p.keep(std::string(places[m % places.size()]));
  if (paths.empty() || m % 3 == 0) {
    paths.emplace_back(n % 50, place);
  } else if (m % 3 == 1) {
    paths[n % paths.size()].second = place;
  } else {
    paths.erase(paths.begin() + static_cast<std::ptrdiff_t>(n % paths.size()));
  }
}

// The root may be a FullPath or a handle too; every Path child of anything keeps its parent.
void as_handle(Patient&, Inode& at, std::uint64_t) {
  if (at.file_handle) at.location = HandleLocation{*at.file_handle};
}

const std::vector<std::pair<std::string_view, Treatment>>& treatments() {
  static const std::vector<std::pair<std::string_view, Treatment>> all = {
      {"invalid", on_inode([](Patient&, Inode& at, auto) { at.location = Invalid{}; })},
      {"root-node", on_inode([](Patient&, Inode& at, auto) { at.location = RootNode{}; })},
      {"full-path", on_inode([](Patient& p, Inode& at, auto m) {
         const std::array<std::string_view, 4> names = {"a", "sub/b", "nowhere", ""};
         at.location = FullPath{p.keep(std::string(names[m % names.size()]))};
       })},
      {"by-handle", on_inode(as_handle)},
      {"parent", on_path([](Patient& p, Path& path, auto m) { path.parent = some_id(p, m); })},
      {"filename", on_path(rename)},
      {"refcount", on_inode([](Patient&, Inode& at, auto m) {
         // 2^64 - 1 loads too, and then the daemon's own counting runs over: no case to compare.
         const std::uint64_t less = at.refcount == 0 ? 0 : at.refcount - 1;
         const std::array<std::uint64_t, 6> counts = {0,    1,
                                                      2,    less,
                                                      at.refcount + 1, std::uint64_t{1} << 62};
         at.refcount = counts[m % counts.size()];
       })},
      {"id", on_inode([](Patient& p, Inode& at, auto m) { at.id = some_id(p, m); })},
      {"remove-inode", [](Patient& p, auto n, auto) {
         auto& all_inodes = p.state.inodes;
         if (all_inodes.empty()) return;
         all_inodes.erase(all_inodes.begin() + static_cast<std::ptrdiff_t>(n % all_inodes.size()));
       }},
      {"twice", [](Patient& p, auto n, auto m) {
         if (const Inode* at = inode(p, n)) {
           const Inode copy = *at;
           auto& all_inodes = p.state.inodes;
           all_inodes.insert(all_inodes.begin() + static_cast<std::ptrdiff_t>(m % (all_inodes.size() + 1)), copy);
         }
       }},
      {"swap", [](Patient& p, auto n, auto m) {
         if (Inode* at = inode(p, n)) std::swap(*at, *inode(p, m));
       }},
      {"reverse", [](Patient& p, auto, auto) { std::reverse(p.state.inodes.begin(), p.state.inodes.end()); }},
      {"handle-bytes", on_inode([](Patient& p, Inode& at, auto m) {
         if (auto* by = std::get_if<HandleLocation>(&at.location)) {
           change_handle(p, by->handle, m);
         } else if (at.file_handle) {
           change_handle(p, *at.file_handle, m);
         }
       })},
      {"handle-of-other", on_inode([](Patient& p, Inode& at, auto m) {
         const Inode* other = inode(p, m);
         if (at.file_handle && other->file_handle) at.file_handle = other->file_handle;
       })},
      {"no-handle", on_inode([](Patient&, Inode& at, auto) { at.file_handle.reset(); })},
      {"handle-inode", on_handle([](Patient& p, Handle& at, auto m) { at.inode = some_id(p, m); })},
      {"handle-id", on_handle([](Patient& p, Handle& at, auto m) { at.id = handle(p, m)->id; })},
      {"flags", on_handle([](Patient&, Handle& at, auto m) { at.flags = odd_flags(m); })},
      {"add-handle", [](Patient& p, auto n, auto m) {
         if (const Inode* at = inode(p, n)) {
           p.state.handles.push_back({p.state.next_handle++, at->id, odd_flags(m)});
         }
       }},
      {"options", change_options},
      {"mount-paths", change_mount_paths},
      {"next-inode", [](Patient& p, auto n, auto) { p.state.next_inode = n % (p.state.next_inode + 1); }},
      {"as-v1", [](Patient& p, auto, auto) { p.dialect = Dialect::kV1; }},
  };
  return all;
}

// What cannot be said of a State: bytes.
void harm_bytes(ByteVector& bytes, const Step& step) {
  if (bytes.empty()) return;
  if (step.a == "cut") bytes.resize(step.n % bytes.size());
  if (step.a == "flip") flip(bytes[step.n % bytes.size()], step.m);
  if (step.a == "append") bytes.insert(bytes.end(), 1 + step.n % 5, 0);
}

// V1 holds no mount paths and no locations by handle.
void fit_into_v1(State& state) {
  state.mount_paths.clear();
  for (Inode& at : state.inodes) {
    if (location_as<HandleLocation>(at) != nullptr) at.location = Invalid{};
  }
}

}  // namespace

std::span<const std::string_view> all_damages() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all = {"cut", "flip", "append"};
    for (const auto& [name, treatment] : treatments()) all.push_back(name);
    return all;
  }();
  return names;
}

ByteVector damaged(Bytes state, std::span<const Step> steps) {
  ByteVector bytes(state.begin(), state.end());
  for (const Step& step : steps) {
    harm_bytes(bytes, step);
    for (const auto& [name, treatment] : treatments()) {
      if (name != step.a) continue;
      auto decoded = decode(bytes, Reader::kVirtiofsd);
      if (!decoded) break;
      Patient patient{std::move(decoded->state), decoded->dialect, {}, {}};
      treatment(patient, step.n, step.m);
      if (patient.dialect == Dialect::kV1) fit_into_v1(patient.state);
      bytes = encode(patient.state, patient.dialect);
      break;
    }
  }
  return bytes;
}

}  // namespace vfsmend::differential
