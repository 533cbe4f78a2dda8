// SPDX-License-Identifier: Apache-2.0
// Seed -> plan. The generator keeps a rough idea of the tree, so that most steps meet something; a
// step that meets nothing does nothing.
#include <fcntl.h>

#include <algorithm>
#include <array>

#include "damage.h"
#include "dice.h"
#include "plan.h"

namespace vfsmend::differential {
namespace {

const std::array<std::string, 24> kNames = {
    "a", "b", "c", "d", "e", "f1", "f2", "sub", "lib", "x y", "data.db", "module.py",
    "\xc3\xbc\xe2\x82\xac", "na\nme", "gone (deleted)", "\xff\xfe", "...", "quo\"te", "back\\slash",
    "tab\t", "-n", "%41", std::string(200, 'n'), std::string(255, 'L')};

// Flags of open(2) as guests give them, and some that only a damaged state has.
constexpr std::array kGuestFlags = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR | O_APPEND,
                                    O_RDONLY | O_NONBLOCK, O_WRONLY | O_TRUNC, O_RDWR | O_DIRECT,
                                    O_RDONLY | O_NOATIME, O_RDWR | O_SYNC, O_RDONLY | O_NOFOLLOW};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : seed_(seed), dice_(seed) {}

  Plan make(unsigned rounds) {
    plan_.filesystem = dice_.roll(64);
    choose_switches();
    make_tree();
    work_as_guest();
    add(Kind::kSave);
    for (unsigned round = 0; round < rounds; ++round) make_round(round);
    return std::move(plan_);
  }

 private:
  void add(Kind kind, std::string a = "", std::string b = "", std::uint64_t n = 0,
           std::uint64_t m = 0) {
    plan_.steps.push_back({kind, std::move(a), std::move(b), n, m});
  }

  void choose_switches() {
    auto& save = plan_.save_words;
    auto& load = plan_.load_words;
    const std::array<std::string, 3> sandboxes = {"none", "namespace", "chroot"};
    save = {"--sandbox=none", "--inode-file-handles=never"};
    load = {"--sandbox=" + dice_.one_of(sandboxes)};
    for (const char* both : {"--writeback", "--posix-acl", "--announce-submounts"}) {
      if (!dice_.percent(25)) continue;
      save.emplace_back(both);
      if (!dice_.percent(10)) load.emplace_back(both);
    }
    if (dice_.percent(35)) {
      save.emplace_back("--migration-mode=file-handles");
      if (dice_.percent(70)) load.emplace_back("--modcaps=+dac_read_search");
    } else {  // with file handles there is nothing to verify or to confirm: refused
      if (dice_.percent(50)) save.emplace_back("--migration-verify-handles");
      if (dice_.percent(30)) save.emplace_back("--migration-confirm-paths");
    }
    if (dice_.percent(20)) {
      load.emplace_back(dice_.percent(60) ? "--inode-file-handles=prefer"
                                          : "--inode-file-handles=mandatory");
    }
    if (dice_.percent(10)) load.emplace_back("--allow-direct-io");
    if (dice_.percent(8)) load.emplace_back("--modcaps=-dac_override:-fowner");
    if (dice_.percent(6)) load.push_back("--rlimit-nofile=" + std::to_string(608 + dice_.roll(12)));
    if (dice_.percent(6)) load.push_back("--thread-pool-size=" + std::to_string(dice_.roll(4)));
  }

  std::string fresh_path() {
    const std::string dir = dice_.one_of(dirs_);
    const std::string name = dice_.one_of(kNames);
    return dir.empty() ? name : dir + "/" + name;
  }
  // Mostly something that was made; sometimes not.
  std::string known_path() {
    return all_.empty() || dice_.percent(4) ? fresh_path() : dice_.one_of(all_);
  }

  void make_tree() {
    const std::uint64_t count = 3 + dice_.roll(18);
    for (std::uint64_t i = 0; i < count; ++i) make_entry();
    if (dice_.percent(4)) make_chain();
  }

  // Directories in each other, until their path is longer than a daemon can read back.
  void make_chain() {
    constexpr int kDepth = 16;
    std::string path;
    for (int i = 0; i < kDepth; ++i) {
      path += (i == 0 ? "" : "/") + std::string(255, 'L');
      add(Kind::kMkdir, path);
      dirs_.push_back(path);
      all_.push_back(path);
    }
    all_.push_back(path + "/deep");
    add(Kind::kCreate, all_.back(), "", static_cast<unsigned>(dice_.one_of(kGuestFlags)));
  }

  void make_entry() {
    const std::string path = fresh_path();
    const std::uint64_t what = dice_.roll(100);
    if (what < 34) {
      add(Kind::kMkdir, path);
      dirs_.push_back(path);
    } else if (what < 72) {
      add(Kind::kFile, path, "", dice_.percent(15) ? 0 : 0644);
    } else if (what < 79) {
      add(Kind::kHardLink, path, known_path());
    } else if (what < 86) {
      const std::array<std::string, 5> targets = {"a", "../b", "sub", "nowhere", "/vfsmend-nowhere"};
      add(Kind::kSymlink, path, dice_.one_of(targets));
    } else if (what < 89) {
      add(Kind::kFifo, path);
    } else if (what < 92) {
      add(Kind::kSocket, path);
    } else if (what < 94) {
      add(Kind::kDevice, path);
    } else {
      add(Kind::kBind, path, "", dice_.roll(64));
      dirs_.push_back(path);
      all_.push_back(path + "/inside");
    }
    all_.push_back(path);
  }

  void work_as_guest() {
    const std::uint64_t count = 2 + dice_.roll(16);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t what = dice_.roll(100);
      if (what < 50) {
        add(Kind::kLookup, known_path(), "", 1 + dice_.roll(3));
      } else if (what < 68) {
        add(Kind::kOpen, known_path(), "", static_cast<unsigned>(dice_.one_of(kGuestFlags)));
      } else if (what < 78) {
        add(Kind::kOpenDir, dice_.one_of(dirs_));
      } else if (what < 84) {
        all_.push_back(fresh_path());
        add(Kind::kCreate, all_.back(), "", static_cast<unsigned>(dice_.one_of(kGuestFlags)));
      } else if (what < 88) {
        add(Kind::kGuestUnlink, known_path());
      } else if (what < 92) {
        all_.push_back(fresh_path());
        add(Kind::kGuestRename, known_path(), all_.back());
      } else if (what < 96) {
        add(Kind::kWrite, known_path(), "", dice_.roll(5000));
      } else {
        add(Kind::kForget, known_path(), "", 1 + dice_.roll(2));
      }
    }
  }

  void change_host() {
    const std::string path = known_path();
    const std::uint64_t what = dice_.roll(100);
    if (what < 28) {
      add(Kind::kRemove, path);
    } else if (what < 44) {
      all_.push_back(fresh_path());
      add(Kind::kRename, path, all_.back());
    } else if (what < 50) {
      add(Kind::kExchange, path, known_path());
    } else if (what < 58) {
      add(Kind::kReplace, path);
    } else if (what < 72) {
      const std::array<unsigned, 5> modes = {0, 0444, 0600, 0755, 0111};
      add(Kind::kChmod, path, "", dice_.one_of(modes));
    } else if (what < 75) {
      add(Kind::kImmutable, path, "", dice_.roll(2));
    } else if (what < 79) {
      add(dice_.percent(50) ? Kind::kUnmount : Kind::kReadOnly, path);
    } else {
      make_entry();
    }
  }

  void make_round(unsigned round) {
    const std::uint64_t changes = dice_.percent(45) ? 1 + dice_.roll(3) : 0;
    for (std::uint64_t i = 0; i < changes; ++i) change_host();
    const std::uint64_t damages = dice_.percent(65) ? 1 + dice_.roll(3) : 0;
    for (std::uint64_t i = 0; i < damages; ++i) {
      add(Kind::kDamage, std::string(dice_.one_of(all_damages())), "", dice_.roll(1U << 20),
          dice_.roll(1U << 20));
    }
    // Dice of its own: what a seed meant before there were repairs, it still means.
    add(Kind::kLoad, "", "", Dice(seed_ ^ ((round + 1ULL) << 40)).roll(1U << 20));
  }

  std::uint64_t seed_;
  Dice dice_;
  Plan plan_;
  std::vector<std::string> dirs_{""};
  std::vector<std::string> all_;
};

}  // namespace

Plan generate(std::uint64_t seed, unsigned rounds) { return Generator(seed).make(rounds); }

}  // namespace vfsmend::differential
