// SPDX-License-Identifier: Apache-2.0
#include "manifest/tree_look.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "base/text.h"
#include "manifest/directory.h"
#include "manifest/table_builder.h"
#include "sys/object_handle.h"
#include "sys/task_pool.h"

namespace vfsmend {
namespace {

class TreeWalk {
 public:
  explicit TreeWalk(const TreeLookInput& in)
      : in_(in),
        began_(file_clock()),
        budget_(in.hash_budget),
        pool_([this](const void* subject) { announce(*static_cast<const Directory*>(subject)); }) {}

  TreeLook run() {
    Directory& top = directories_.add(nullptr, 0, 0);
    directories_.set_nameless(top, 1 + in_.loose.size());
    look_at_top(top);
    if (S_ISDIR(top.objects[0].mode)) add_directory(top, 0, 0);
    sys::SecondThread own;
    sys::SecondThread& second = in_.second != nullptr ? *in_.second : own;
    if (in_.helpers > 0) second.start();
    pool_.run(in_.helpers, std::max(in_.helpers, in_.most_helpers));
    TreeLook out = build_table(directories_, second, in_.expect_memory);
    out.hashed_bytes = in_.hash_budget - budget_.load();
    out.listing_cut = listing_cut_;
    return out;
  }

 private:
  void announce(const Directory& directory) {
    if (in_.progress) in_.progress(directories_.path_of(directory));
  }

  // `scope`: the position of the directory in the scope, or kNoIndex.
  void add_directory(Directory& parent, std::uint32_t entry, std::uint32_t scope) {
    if (!in_.whole_tree && scope == kNoIndex) return;
    Directory& directory = directories_.add(&parent, entry, scope);
    if (!parent.crowded) parent.unfinished.fetch_add(1);
    pool_.add({[this, &directory] { open(directory); }, &directory});
  }

  void open(Directory& directory) {
    const int err = directories_.open(in_.calls, in_.share, directory, in_.whole_tree);
    if (!directory.parent->crowded) directories_.finish_one(*directory.parent);
    if (err < 0) {
      const bool moved = err == -ELOOP || err == -ENOTDIR || err == -ENOENT || err == -ESTALE;
      directory.problem = moved ? Look{LookEnd::kChanging, 0, ""}
                             : Look{LookEnd::kUnreadable, -err, "directory"};
      return;
    }
    list(directory);
    const std::size_t count = directory.objects.size();
    directory.unfinished.store(static_cast<std::uint32_t>(count / kPieceSize + 1));
    for (std::size_t at = kPieceSize; at <= count && !directory.crowded; at += kPieceSize) {
      pool_.add({[this, &directory, at] { look_at_piece(directory, at); }, &directory});
    }
    look_at_piece(directory, 0);
    // Each piece that waits holds the descriptor: a crowded one has none that wait.
    for (std::size_t at = kPieceSize; at <= count && directory.crowded; at += kPieceSize) {
      look_at_piece(directory, at);
    }
  }

  void list(Directory& directory) {
    thread_local NameList names;
    names.clear();
    int err = 0;
    if (in_.whole_tree) {
      err = read_names(in_.calls, directory.fd.get(), names);
    } else {
      const auto [begin, end] = in_.scope.children(directory.scope);
      for (std::uint32_t i = begin; i < end; ++i) names.add(in_.scope.names()[i].text);
      // Names that no state can hold, since it holds UTF-8 only. What is read of a directory is bound
      // by what the state knows in it: a capture costs what the state costs.
      err = read_unspeakable_names(in_.calls, directory.fd.get(), 64 + 16 * names.size(), names);
    }
    if (err > 0) listing_cut_ = true;
    if (err < 0) directory.problem = {LookEnd::kUnreadable, -err, "directory"};
    directories_.set_names(directory, names);
  }

  void look_at_piece(Directory& directory, std::size_t begin) {
    const std::size_t end = std::min(begin + kPieceSize, directory.objects.size());
    std::uint32_t scope = directory.scope == kNoIndex ? 0 : in_.scope.children(directory.scope).first;
    thread_local std::string bytes;
    bytes.clear();
    for (std::size_t i = begin; i < end; ++i) {
      const std::string_view name = directory.name(i);
      const std::uint32_t known = find_in_scope(directory, name, scope);
      const Scope::Name* const known_as = known == kNoIndex ? nullptr : &in_.scope.names()[known];
      const bool is_known = look(directory, i, directory.fd.get(), name.data(),
                                 known_as ? known_as->node : 0, known_as && known_as->open, bytes);
      if (!is_utf8(name)) directory.make_uncommon(i).not_utf8 = true;
      if (is_known && S_ISDIR(directory.objects[i].mode)) {
        add_directory(directory, static_cast<std::uint32_t>(i), known);
      }
    }
    directories_.set_bytes(directory.pieces[begin / kPieceSize], bytes);
    directories_.finish_one(directory);
  }

  // Both are sorted: `hint` is where the one before was found.
  std::uint32_t find_in_scope(const Directory& directory, std::string_view name,
                              std::uint32_t& hint) const {
    if (directory.scope == kNoIndex) return kNoIndex;
    const auto [begin, end] = in_.scope.children(directory.scope);
    const auto names = in_.scope.names().subspan(begin, end - begin);
    const auto at = std::ranges::lower_bound(names.subspan(hint - begin), name, {}, &Scope::Name::text);
    hint = begin + static_cast<std::uint32_t>(at - names.begin());
    return at != names.end() && at->text == name ? hint : kNoIndex;
  }

  // Whether its facts are those of one object.
  bool look(Directory& directory, std::size_t at, int dir, const char* name, NodeId node, bool open,
            std::string& bytes) {
    thread_local Object object;
    const int base = *name == '/' ? AT_FDCWD : dir;  // a bind of CubeSandbox
    bool over_budget = false;
    LookOptions options{began_, nullptr};
    if (in_.hash == HashScope::kAll || (in_.hash == HashScope::kUsed && open)) {
      options.may_hash = [&](std::uint64_t size) {
        over_budget = !take_from_budget(size);
        return !over_budget;
      };
    }
    const Look look = look_at(in_.calls, base, name, options, object);
    directory.keep(at, object, look, bytes);
    SeenObject& kept = directory.objects[at];
    kept.node = node;
    if (open) kept.notes |= kOpen;
    if (over_budget && look.end == LookEnd::kWhole) directory.make_uncommon(at).not_hashed = true;
    return is_known(look.end);
  }

  // The share itself and the loose inodes. Before there are threads: opening by handle needs the
  // working directory.
  void look_at_top(Directory& top) {
    const sys::KeepsWorkingDirectory here(in_.calls);
    for (std::size_t begin = 0; begin < top.objects.size(); begin += kPieceSize) {
      std::string bytes;
      const std::size_t end = std::min(begin + kPieceSize, top.objects.size());
      for (std::size_t i = begin; i < end; ++i) {
        const Scope::Name& share = in_.scope.names().front();
        if (i == 0) look(top, 0, in_.share, "", share.node, share.open, bytes);
        else look_at_loose(top, i, in_.loose[i - 1], bytes);
      }
      directories_.set_bytes(top.pieces[begin / kPieceSize], bytes);
    }
  }

  void look_at_loose(Directory& top, std::size_t at, const LooseInode& inode, std::string& bytes) {
    const sys::UniqueFd fd(sys::open_by_object_handle(in_.calls, inode.mount_dir,
                                                      inode.handle->type, inode.handle->data));
    if (fd.valid()) look(top, at, fd.get(), "", inode.node, inode.open, bytes);
    else top.make_uncommon(at).look = {LookEnd::kVanished, 0, ""};
    top.objects[at].node = inode.node;
  }

  bool take_from_budget(std::uint64_t bytes) {
    std::uint64_t left = budget_.load();
    while (bytes <= left) {
      if (budget_.compare_exchange_weak(left, left - bytes)) return true;
    }
    return false;
  }

  const TreeLookInput& in_;
  const std::int64_t began_;
  std::atomic<std::uint64_t> budget_;
  std::atomic<bool> listing_cut_{false};
  Directories directories_;
  sys::TaskPool pool_;
};

}  // namespace

TreeLook look_at_tree(const TreeLookInput& input) { return TreeWalk(input).run(); }

}  // namespace vfsmend
