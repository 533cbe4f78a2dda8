// SPDX-License-Identifier: Apache-2.0
// The n-th system call of a capture fails, for every n: it ends, with an error that says what, or with
// a record in which everything that is missing is told.
#include <gtest/gtest.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <set>
#include <tuple>

#include "manifest/capture.h"
#include "manifest/manifest_file.h"
#include "support/state_builder.h"
#include "support/stepping_calls.h"
#include "support/temp_dir.h"
#include "sys/object_handle.h"

namespace vfsmend::test {
namespace {

class NthCallFails : public testing::Test {
 protected:
  void SetUp() override {
    dir_.write("a", "1");
    dir_.write("d/b", "22");
    dir_.write("d/e/c", "333");
    ASSERT_EQ(::symlink("a", (dir_ / "l").c_str()), 0);
    ASSERT_EQ(::setxattr((dir_ / "a").c_str(), "user.k", "v", 1, 0), 0);
    ASSERT_EQ(sys::object_handle(sys::kernel(), AT_FDCWD, (dir_ / "d/b").c_str(), 0, handle_), 0);
    state_ = state_of({root(9), at(2, 1, "a"), at(3, 1, "d"), at(4, 1, "l"), at(5, 3, "e"), at(6, 5, "c"),
                       by_handle(7, {1, handle_.type, handle_.bytes()})},
                      {{0, 2, 0}, {1, 6, 2}});
    state_.mount_paths = {{1, ""}};
  }

  Result<Captured> capture(sys::Calls& calls, const State* state, bool whole_tree) {
    const CaptureInput input{calls, dir_.path(), state ? "fs" : "", state, {}, whole_tree, HashScope::kAll,
                             kDefaultHashBudget, {}};
    return capture_share(input);
  }

  // Every n, until a capture needs fewer calls.
  void expect_told(const State* state, bool whole_tree) {
    const auto reference = capture(sys::kernel(), state, whole_tree);
    ASSERT_TRUE(reference);
    ASSERT_TRUE(reference->notes.empty());
    for (const int err : {EIO, ENOENT, EMFILE}) {
      bool done = false;
      for (int nth = 1; !done; ++nth) {
        SCOPED_TRACE(testing::Message() << "errno " << err << " for call " << nth);
        std::atomic<int> left = nth;
        std::string failed;
        SteppingCalls calls([&](const Step& step) {
          if (left.fetch_sub(1) != 1) return 0;
          failed = std::string(step.call) + " " + std::string(step.path);
          return -err;
        });
        const auto captured = capture(calls, state, whole_tree);
        done = left > 0;
        expect_told(captured, *reference, failed);
      }
    }
  }

 private:
  // Each object with what was said of it. One whose path cannot be told stands beside the share.
  static bool is_all_there(const EntryTable& seen, const EntryTable& expected) {
    const auto all = [](const EntryTable& e) {
      std::multiset<std::tuple<std::uint64_t, std::uint64_t, std::string, std::uint32_t, std::uint64_t>> out;
      for (std::uint32_t i = 0; i < e.size_of(); ++i) {
        const std::string bytes = std::string(e.handle[i]) + std::string(e.target[i]);
        out.emplace(e.ino[i], e.node[i], bytes, e.xattrs[i], e.hash.empty() ? 0 : e.hash[i][0]);
      }
      return out;
    };
    return std::ranges::includes(all(seen), all(expected));
  }
  static void expect_told(const Result<Captured>& captured, const Captured& reference,
                          const std::string& failed) {
    if (!captured) {
      EXPECT_EQ(captured.error().code, ErrorCode::kSystem);
      EXPECT_NE(captured.error().text.find(": "), std::string::npos) << captured.error().text;
      return;
    }
    Manifest manifest;
    manifest.sections = {captured->section};
    const auto file = encode_manifest(manifest);
    ASSERT_TRUE(file) << file.error().text;
    const auto again = decode_manifest(*file);
    ASSERT_TRUE(again) << again.error().text;
    const bool whole = is_all_there(captured->section.entries, reference.section.entries);
    const bool told = !captured->notes.empty() || captured->unlocated > reference.unlocated;
    EXPECT_TRUE(whole || told) << failed;
  }

  TempDir dir_;
  sys::UniqueFd before_{::open(".", O_PATH | O_CLOEXEC)};  // opening by handle changes it

 protected:
  void TearDown() override { EXPECT_EQ(::fchdir(before_.get()), 0); }

  sys::ObjectHandle handle_;
  State state_;
};

TEST_F(NthCallFails, OfAState) {
  if (::geteuid() != 0) GTEST_SKIP() << "opening by handle needs root";
  expect_told(&state_, false);
}

TEST_F(NthCallFails, OfAStateAndTheWholeTree) {
  if (::geteuid() != 0) GTEST_SKIP() << "opening by handle needs root";
  expect_told(&state_, true);
}

TEST_F(NthCallFails, OfATree) { expect_told(nullptr, true); }

}  // namespace
}  // namespace vfsmend::test
