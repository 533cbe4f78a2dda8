// SPDX-License-Identifier: Apache-2.0
// How the walk looks: what it costs, what it holds, and what it says when it cannot look.
#include <gtest/gtest.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <deque>
#include <filesystem>
#include <string>

#include "support/forwarding_calls.h"
#include "support/state_builder.h"
#include "support/temp_dir.h"

namespace vfsmend::test {
namespace {

// The n-th call that looks at the host fails with `err`.
class FailingCalls final : public ForwardingCalls {
 public:
  FailingCalls(int nth, int err) : left_(nth), err_(err) {}

  int openat2(int dir, const char* path, const open_how& how) override {
    return fails() ? -err_ : kernel_.openat2(dir, path, how);
  }
  int statx(int dir, const char* path, int flags, unsigned mask, struct statx& out) override {
    return fails() ? -err_ : kernel_.statx(dir, path, flags, mask, out);
  }
  int name_to_handle_at(int dir, const char* path, file_handle& handle, int& mount_id,
                        int flags) override {
    return fails() ? -err_ : kernel_.name_to_handle_at(dir, path, handle, mount_id, flags);
  }
  ssize_t readlinkat(int dir, const char* path, std::span<char> out) override {
    return fails() ? -err_ : kernel_.readlinkat(dir, path, out);
  }
  [[nodiscard]] bool done() const { return left_ > 0; }

 private:
  bool fails() { return --left_ == 0; }

  int left_;
  int err_;
};

// Counts what is opened, and how.
class CountingCalls final : public ForwardingCalls {
 public:
  int openat2(int dir, const char* path, const open_how& how) override {
    ++opens;
    if ((how.flags & O_PATH) == 0) ++reads;
    const int fd = kernel_.openat2(dir, path, how);
    highest = std::max(highest, fd);
    return fd;
  }
  int statx(int dir, const char* path, int flags, unsigned mask, struct statx& out) override {
    ++stats;
    return kernel_.statx(dir, path, flags, mask, out);
  }
  int opens = 0;
  int reads = 0;
  int stats = 0;
  int highest = 0;
};

// A share that stops answering in the middle: whatever fails, the answer is never one that has the
// sandbox destroyed.
TEST(Walk, AnErrorOfTheHostNeverDestroysASandbox) {
  const TempDir dir;
  dir.write("a", "1");
  dir.write("d/b", "2");
  dir.write("d/e/c", "3");
  const State state = state_of({root(4), at(2, 1, "a"), at(3, 1, "d", 3), at(4, 3, "b"),
                                at(5, 3, "e", 2), at(6, 5, "c")},
                               {{0, 2, 2}, {1, 6, 0}});
  for (const int err : {EIO, ESTALE, ETIMEDOUT, ENOTCONN}) {
    for (int nth = 1;; ++nth) {
      FailingCalls calls(nth, err);
      const auto report = check_state(state, dir.path(), virtiofsd(), calls);
      if (calls.done()) break;
      EXPECT_NE(report.verdict, Verdict::kColdboot) << "call " << nth << " errno " << err;
      EXPECT_NE(report.verdict, Verdict::kRebuild) << "call " << nth << " errno " << err;
      ASSERT_LT(nth, 1000);
    }
  }
}

TEST(Walk, OpensNothingForReadingButProcAndCostsOneStatALeaf) {
  const TempDir dir;
  State state = state_of({root(202)});
  std::deque<std::string> names;
  for (NodeId id = 2; id < 202; ++id) {
    names.push_back("f" + std::to_string(id));
    dir.write(names.back(), "");
    state.inodes.push_back(at(id, 1, names.back()));
  }
  CountingCalls calls;
  EXPECT_EQ(check_state(state, dir.path(), virtiofsd(), calls).verdict, Verdict::kResume);
  EXPECT_EQ(calls.reads, 1);  // /proc/self/mountinfo
  EXPECT_LE(calls.stats, 200 + 4);
  EXPECT_LE(calls.opens, 6);
}

// A comb: at each level a file and the next directory. Depth-first would hold one descriptor a
// level; the largest subtree last holds none of them.
TEST(Walk, HoldsFewDescriptorsHoweverDeepTheTree) {
  const TempDir dir;
  State state = state_of({root(3)});
  std::string path = dir.path();
  NodeId parent = kRootId;
  constexpr int kDepth = 600;
  for (int level = 0; level < kDepth; ++level) {
    const NodeId id = 2 + 2 * static_cast<NodeId>(level);
    state.inodes.push_back(at(id, parent, "d", 3));
    state.inodes.push_back(at(id + 1, id, "f"));
    path += "/d";
    ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
    ASSERT_EQ(::mknod((path + "/f").c_str(), S_IFREG | 0600, 0), 0);
    parent = id;
  }
  state.inodes[0].refcount = 4;
  state.next_inode = 100000;
  CountingCalls calls;
  const int before = ::dup(0);
  ::close(before);
  EXPECT_EQ(check_state(state, dir.path(), virtiofsd(), calls).verdict, Verdict::kResume);
  EXPECT_LE(calls.highest, before + 8);
}

// Two files of the snapshot's names, none of them there, and the directory not empty: gone. With
// nothing in it, or with three names: not the share.
TEST(Walk, TellsAnUnmountedShareFromALostFile) {
  const TempDir dir;
  dir.write("other", "");
  const State two = state_of({root(4), at(2, 1, "a"), at(3, 1, "b")});
  const State three = state_of({root(5), at(2, 1, "a"), at(3, 1, "b"), at(4, 1, "c")});
  EXPECT_EQ(check_state(two, dir.path(), virtiofsd()).verdict, Verdict::kRepair);
  const auto gone = check_state(three, dir.path(), virtiofsd());
  EXPECT_EQ(gone.verdict, Verdict::kIndeterminate);
  ASSERT_EQ(gone.findings.size(), 1U);
  EXPECT_EQ(gone.findings[0].code, Code::kR001);
  std::filesystem::remove(dir / "other");
  EXPECT_EQ(check_state(two, dir.path(), virtiofsd()).verdict, Verdict::kIndeterminate);
}

}  // namespace
}  // namespace vfsmend::test
