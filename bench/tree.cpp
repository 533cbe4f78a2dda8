// SPDX-License-Identifier: Apache-2.0
#include "tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/check.h"
#include "state/codec.h"

namespace vfsmend::bench {
namespace {

// Ten entries a directory: every tenth inode is a directory for the next nine and its own kind.
struct Plan {
  struct Item {
    NodeId id;
    NodeId parent;
    bool directory;
    std::string name;
  };
  std::deque<Item> items;
};

Plan plan_of(std::uint64_t inodes) {
  Plan plan;
  std::deque<NodeId> directories = {kRootId};
  std::uint64_t in_this = 0;
  for (NodeId id = 2; id <= inodes; ++id) {
    if (in_this == 10) {
      directories.pop_front();
      in_this = 0;
    }
    const bool directory = in_this < 2;
    plan.items.push_back({id, directories.front(), directory,
                          fmt::format("{}{:06x}.py", directory ? "d" : "module_", id)});
    if (directory) directories.push_back(id);
    ++in_this;
  }
  return plan;
}

ByteVector encoded(const Plan& plan) {
  State state;
  std::map<NodeId, std::uint64_t> children;
  for (const auto& item : plan.items) ++children[item.parent];
  state.inodes.push_back({kRootId, 2 + children[kRootId], RootNode{}, {}});
  for (const auto& item : plan.items) {
    state.inodes.push_back(
        {item.id, 1 + children[item.id], Path{item.parent, item.name, {}}, {}});
  }
  state.next_inode = plan.items.size() + 2;
  return encode(state, Dialect::kV2);
}

class Made {
 public:
  explicit Made(std::uint64_t inodes) {
    const char* base = std::getenv("VFSMEND_BENCH_DIR");
    std::string dir = fmt::format("{}/vfsmend-bench-XXXXXX",
                                  base ? base : std::filesystem::temp_directory_path().string());
    VFSMEND_CHECK(::mkdtemp(dir.data()) != nullptr);
    dir_ = dir;
    fixture_.share = dir + "/share";
    fixture_.state_file = dir + "/state";
    fixture_.inodes = inodes;
    const Plan plan = plan_of(inodes);
    build(plan);
    fixture_.state = encoded(plan);
    std::ofstream(fixture_.state_file, std::ios::binary)
        .write(reinterpret_cast<const char*>(fixture_.state.data()),
               static_cast<std::streamsize>(fixture_.state.size()));
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() {
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }
  [[nodiscard]] const Fixture& fixture() const { return fixture_; }

 private:
  void build(const Plan& plan) const {
    std::map<NodeId, std::string> where = {{kRootId, fixture_.share}};
    VFSMEND_CHECK(::mkdir(fixture_.share.c_str(), 0755) == 0);
    for (const auto& item : plan.items) {
      const std::string path = where[item.parent] + "/" + item.name;
      if (item.directory) {
        VFSMEND_CHECK(::mkdir(path.c_str(), 0755) == 0);
        where[item.id] = path;
      } else {
        VFSMEND_CHECK(::mknod(path.c_str(), S_IFREG | 0644, 0) == 0);
      }
    }
  }

  std::string dir_;
  Fixture fixture_;
};

}  // namespace

const Fixture& fixture(std::uint64_t inodes) {
  static std::map<std::uint64_t, Made> made;
  return made.try_emplace(inodes, inodes).first->second.fixture();
}

ByteVector state_of(std::uint64_t inodes) { return encoded(plan_of(inodes)); }

}  // namespace vfsmend::bench
