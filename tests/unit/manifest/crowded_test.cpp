// SPDX-License-Identifier: Apache-2.0
// Trees that would hold more directories open than a process may, and paths longer than the kernel
// takes: the table is that of a simple walk, whatever the number of threads.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>

#include "tree_fixture.h"

namespace vfsmend::test {
namespace {

// A tree as it was made, and the simple walk: of one thread, over what is in memory.
class Model {
 public:
  struct Node {
    std::string name;
    ino_t ino = 0;
    bool is_directory = false;
    std::vector<std::unique_ptr<Node>> below;
  };

  explicit Model(const std::string& root) : fd_(::open(root.c_str(), O_PATH | O_CLOEXEC)) {
    struct stat s {};
    VFSMEND_CHECK(::fstat(fd_.get(), &s) == 0);
    top_.ino = s.st_ino;
    top_.is_directory = true;
    at_ = &top_;
  }
  ~Model() { dismantle(top_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // In the directory that was entered last.
  void file(const std::string& name) {
    const sys::UniqueFd fd(::openat(fd_.get(), name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    VFSMEND_CHECK(fd.valid());
    note(name, false);
  }
  void directory(const std::string& name) {
    VFSMEND_CHECK(::mkdirat(fd_.get(), name.c_str(), 0700) == 0);
    note(name, true);
  }
  void directory_with_a_file(const std::string& name) {
    directory(name);
    const sys::UniqueFd fd(::openat(fd_.get(), (name + "/f").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    struct stat s {};
    VFSMEND_CHECK(::fstat(fd.get(), &s) == 0);
    at_->below.back()->below.push_back(std::make_unique<Node>(Node{"f", s.st_ino, false, {}}));
  }
  void enter(const std::string& name) {
    directory(name);
    at_ = at_->below.back().get();
    fd_ = sys::UniqueFd(::openat(fd_.get(), name.c_str(), O_PATH | O_CLOEXEC));
    VFSMEND_CHECK(fd_.valid());
  }

  // Breadth first, by name.
  void expect_is(const TreeLook& seen) {
    const EntryTable& e = seen.entries;
    std::deque<std::pair<Node*, std::uint32_t>> waiting = {{&top_, kNoParent}};
    for (std::uint32_t i = 0; !waiting.empty(); ++i) {
      const auto [node, parent] = waiting.front();
      waiting.pop_front();
      ASSERT_LT(i, e.size_of()) << "the table is too short";
      ASSERT_EQ(e.name[i], node->name) << i;
      ASSERT_EQ(e.parent[i], parent) << i;
      ASSERT_EQ(e.ino[i], node->ino) << i;
      ASSERT_EQ(S_ISDIR(e.mode[i]), node->is_directory) << i;
      std::ranges::sort(node->below, {}, [](const auto& n) { return n->name; });
      for (const auto& child : node->below) waiting.emplace_back(child.get(), i);
    }
  }

 private:
  void note(const std::string& name, bool is_directory) {
    struct stat s {};
    VFSMEND_CHECK(::fstatat(fd_.get(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0);
    at_->below.push_back(std::make_unique<Node>(Node{name, s.st_ino, is_directory, {}}));
  }
  // Not by recursion: it is deep.
  static void dismantle(Node& top) {
    std::vector<std::unique_ptr<Node>> waiting = std::move(top.below);
    while (!waiting.empty()) {
      const auto node = std::move(waiting.back());
      waiting.pop_back();
      std::ranges::move(node->below, std::back_inserter(waiting));
    }
  }

  Node top_;
  Node* at_ = nullptr;
  sys::UniqueFd fd_;
};

class Crowded : public TreeFixture {
 protected:
  void SetUp() override {
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit usual = before_;
    usual.rlim_cur = std::min<rlim_t>(1024, before_.rlim_max);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  }
  void TearDown() override {
    ::setrlimit(RLIMIT_NOFILE, &before_);
    // std::filesystem would hold a descriptor a level.
    EXPECT_EQ(std::system(("rm -rf '" + dir_.path() + "'").c_str()), 0);
  }

  void expect_same_with_any_number_of_threads(Model& model) {
    const TreeLook alone = whole();
    EXPECT_TRUE(alone.notes.empty()) << notes(alone).front();
    model.expect_is(alone);
    for (const unsigned helpers : {1U, 7U}) {
      const TreeLook seen = whole(sys::kernel(), helpers);
      EXPECT_TRUE(seen.notes.empty()) << notes(seen).front();
      EXPECT_EQ(seen.entries, alone.entries) << helpers << " helpers";
      EXPECT_EQ(seen.xattr_sets, alone.xattr_sets);
      EXPECT_EQ(seen.devices, alone.devices);
    }
    expect_sound(alone);
  }

  rlimit before_{};
};

// Whatever the order of a walk: some of them are open while it is at the bottom.
TEST_F(Crowded, DeeperThanDescriptorsAndWideAtEachLevel) {
  Model model(dir_.path());
  for (int i = 0; i < 1200; ++i) {
    for (const char* name : {"a", "z"}) model.directory_with_a_file(name);
    model.file("b");
    model.enter("m");
  }
  for (int i = 0; i < 600; ++i) model.file("file-" + std::to_string(i));
  expect_same_with_any_number_of_threads(model);
}

// In turn first and last among its siblings, and with names so long that a path is more than one call.
TEST_F(Crowded, LongNamesAndSeveralPieces) {
  Model model(dir_.path());
  for (int i = 0; i < 400; ++i) {
    model.directory_with_a_file("m");
    if (i % 50 == 49) {
      for (int k = 0; k < 300; ++k) model.directory("many-" + std::to_string(k));
    }
    model.enter((i % 2 == 0 ? "a" : "z") + std::string(200, 'n'));
  }
  expect_same_with_any_number_of_threads(model);
}

TEST_F(Crowded, AChainOf5000) {
  Model model(dir_.path());
  for (int i = 0; i < 5000; ++i) model.enter("d");
  model.file("f");
  expect_same_with_any_number_of_threads(model);
}

TEST_F(Crowded, WideTrees) {
  Model model(dir_.path());
  for (int i = 0; i < 1500; ++i) model.directory_with_a_file("d" + std::to_string(i));
  expect_same_with_any_number_of_threads(model);
}

// A directory that goes by its path is the one that was seen, or none.
TEST_F(Crowded, OneThatIsSwappedForALinkIsNotEntered) {
  Model model(dir_.path());
  for (int i = 0; i < 400; ++i) {
    model.directory("a");
    model.enter("z");
  }
  const TempDir outside;
  outside.write("secret", "x");
  const std::string above = [] {
    std::string path;
    for (int i = 0; i < 350; ++i) path += path.empty() ? "z" : "/z";
    return path;
  }();
  bool swapped = false;
  SteppingCalls calls([&](const Step& step) {
    if (swapped || step.call != "openat2" || step.path != above + "/z") return 0;
    swapped = true;
    const std::string place = dir_ / (above + "/z");
    EXPECT_EQ(::rename(place.c_str(), (outside / "moved").c_str()), 0);
    return ::symlink(outside.path().c_str(), place.c_str());
  });
  const TreeLook seen = whole(calls);
  EXPECT_TRUE(swapped) << "it was not opened by its path";
  EXPECT_EQ(notes(seen), std::vector<std::string>{above + "/z: changing"});
  for (std::uint32_t i = 0; i < seen.entries.size_of(); ++i) EXPECT_NE(seen.entries.name[i], "secret");
}

// The same with files that are hashed, links and attributes.
TEST_F(Crowded, HashesAndAttributesDoNotDependOnThreads) {
  for (int i = 0; i < 40; ++i) {
    const std::string name = "d" + std::to_string(i % 7) + "/e" + std::to_string(i % 3) + "/f" + std::to_string(i);
    const std::string file = dir_.write(name, std::string(i * 100, 'x'));
    ASSERT_EQ(::symlink(name.c_str(), (file + "-link").c_str()), 0);
  }
  const TreeLook alone = whole(sys::kernel(), 0, HashScope::kAll);
  for (const unsigned helpers : {1U, 7U}) {
    const TreeLook seen = whole(sys::kernel(), helpers, HashScope::kAll);
    EXPECT_EQ(seen.entries, alone.entries);
    EXPECT_EQ(seen.hashed_bytes, alone.hashed_bytes);
  }
}

}  // namespace
}  // namespace vfsmend::test
