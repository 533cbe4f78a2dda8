// SPDX-License-Identifier: Apache-2.0
// A directory, what a walk makes of it, and both as text.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/check.h"
#include "manifest/manifest_file.h"
#include "manifest/tree_look.h"
#include "support/stepping_calls.h"
#include "support/temp_dir.h"
#include "sys/unique_fd.h"

namespace vfsmend::test {

inline const char* kind_text(TreeNote::Kind kind) {
  switch (kind) {
    case TreeNote::Kind::kUnreadable: return "unreadable";
    case TreeNote::Kind::kChanging: return "changing";
    case TreeNote::Kind::kVanished: return "vanished";
    case TreeNote::Kind::kNotUtf8: return "not UTF-8";
    case TreeNote::Kind::kNotHashed: return "not hashed";
  }
  return "";
}

class TreeFixture : public testing::Test {
 protected:
  // The tree as a whole.
  TreeLook whole(sys::Calls& calls = sys::kernel(), unsigned helpers = 0,
                 HashScope hash = HashScope::kNone, std::uint64_t budget = std::uint64_t{1} << 30) {
    Scope scope;
    scope.finish();
    return look(calls, scope, true, helpers, hash, budget);
  }
  // Only what leads to `paths`.
  TreeLook some(const std::vector<std::string>& paths, sys::Calls& calls = sys::kernel()) {
    Scope scope;
    for (const std::string& path : paths) scope.add_path(0, path);
    scope.finish();
    return look(calls, scope, false, 0, HashScope::kNone, 0);
  }

  // "path", sorted as the table has them.
  static std::vector<std::string> paths(const TreeLook& seen) {
    std::vector<std::string> out;
    for (std::uint32_t i = 0; i < seen.entries.size_of(); ++i) out.push_back(path_of(seen.entries, i));
    return out;
  }
  // "path: unreadable directory 13"
  static std::vector<std::string> notes(const TreeLook& seen) {
    std::vector<std::string> out;
    for (const TreeNote& note : seen.notes) {
      std::string text = path_of(seen.entries, note.entry) + ": " + kind_text(note.kind);
      if (note.kind == TreeNote::Kind::kUnreadable) text += " " + note.what + " " + std::to_string(note.err);
      out.push_back(std::move(text));
    }
    return out;
  }
  static std::uint32_t position(const TreeLook& seen, std::string_view path) {
    for (std::uint32_t i = 0; i < seen.entries.size_of(); ++i) {
      if (path_of(seen.entries, i) == path) return i;
    }
    ADD_FAILURE() << path << " is not in the table";
    return 0;
  }
  // The table is one that a manifest can hold, and comes back from the file.
  static void expect_sound(const TreeLook& seen) {
    Manifest manifest;
    ManifestSection& section = manifest.sections.emplace_back();
    section.entries = seen.entries;
    section.devices = seen.devices;
    section.xattr_sets = seen.xattr_sets;
    const auto file = encode_manifest(manifest);
    ASSERT_TRUE(file) << file.error().text;
    const auto again = decode_manifest(*file);
    ASSERT_TRUE(again) << again.error().text;
    EXPECT_EQ(*again, manifest);
  }

  TempDir dir_;

 private:
  TreeLook look(sys::Calls& calls, const Scope& scope, bool whole_tree, unsigned helpers,
                HashScope hash, std::uint64_t budget) {
    const sys::UniqueFd fd(::open(dir_.path().c_str(), O_PATH | O_CLOEXEC));
    VFSMEND_CHECK(fd.valid());
    TreeLookInput input{calls, fd.get(), scope, {}, {}};
    input.whole_tree = whole_tree;
    input.helpers = helpers;
    input.hash = hash;
    input.hash_budget = budget;
    return look_at_tree(input);
  }
};

}  // namespace vfsmend::test
