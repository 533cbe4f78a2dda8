// SPDX-License-Identifier: Apache-2.0
// The differential test: random cases, the model against a real virtiofsd. README.md beside this
// file says how it is used.
//
// The parent sets up the file systems and deals out chunks of seeds; each chunk is a process of its
// own, so that a crash of the model is one more disagreement, with its seeds.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>

#include "daemon/virtiofsd.h"
#include "play.h"
#include "shrink.h"
#include "sys/shared_memory.h"
#include "workshop.h"

namespace vfsmend::differential {
namespace {

namespace po = boost::program_options;

constexpr int kSkipped = 77;
constexpr std::uint64_t kChunk = 20;  // seeds

struct Options {
  std::string program;  // of this test: argv[0]
  Bench bench;
  std::uint64_t first = 1;
  std::uint64_t count = 2000;  // cases
  unsigned rounds = 5;         // cases a seed
  unsigned jobs = 2;
  std::string progress;
  std::vector<std::vector<std::string>> bases;  // of each job
  std::vector<std::string> states;
};

struct Sums {
  std::uint64_t seeds = 0;
  std::uint64_t cases = 0;
  std::uint64_t loads = 0;
  std::uint64_t bad = 0;
  double seconds = 0;
  std::map<std::string, std::uint64_t> outcomes;

  void add(const Sums& other) {
    seeds += other.seeds;
    cases += other.cases;
    loads += other.loads;
    bad += other.bad;
    seconds += other.seconds;
    for (const auto& [name, n] : other.outcomes) outcomes[name] += n;
  }
};

// "seeds cases loads bad seconds (n name)*" on one line
std::string to_line(const Sums& sums) {
  std::string line = fmt::format("{} {} {} {} {:.1f}", sums.seeds, sums.cases, sums.loads, sums.bad,
                                 sums.seconds);
  for (const auto& [name, n] : sums.outcomes) line += fmt::format(" {} \"{}\"", n, name);
  return line + "\n";
}
Sums from_line(const std::string& line) {
  Sums sums;
  std::istringstream in(line);
  in >> sums.seeds >> sums.cases >> sums.loads >> sums.bad >> sums.seconds;
  std::uint64_t n = 0;
  for (std::string name; in >> n >> std::quoted(name);) sums.outcomes[name] = n;
  return sums;
}

std::string place_of(std::uint64_t seed) { return fmt::format("s{}", seed); }

// "step 7, abort: error: .." -> " abort: error": what a shrunk plan has to keep.
std::string kind_of(const std::string& disagreement) {
  const std::size_t comma = disagreement.find(',');
  const std::size_t end = disagreement.find(':', disagreement.find(':', comma) + 1);
  return disagreement.substr(comma + 1, end - comma - 1);
}

void tell_disagreement(const Options& options, std::uint64_t seed, const Plan& plan,
                       const Score& score) {
  const std::string kind = kind_of(score.disagreements.front());
  const Plan small = shrunk(plan, [&](const Plan& smaller) {
    const auto again = play(options.bench, smaller, place_of(seed));
    return again && std::any_of(again->disagreements.begin(), again->disagreements.end(),
                                [&](const std::string& text) { return kind_of(text) == kind; });
  });
  std::string text = fmt::format("seed {}:\n", seed);
  for (const std::string& line : score.disagreements) text += "  " + line + "\n";
  text += fmt::format("again: {} --virtiofsd {} --rounds {} --seed {}\nshrunk (--replay FILE):\n",
                      options.program, options.bench.virtiofsd, options.rounds, seed);
  std::cout << text + to_text(small) << std::flush;
}

Result<Sums> play_chunk(const Options& options, std::uint64_t first, std::uint64_t seeds) {
  Sums sums;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const Plan plan = generate(seed, options.rounds);
    auto score = play(options.bench, plan, place_of(seed));
    if (!score) return tl::make_unexpected(std::move(score.error()).context(fmt::format("seed {}", seed)));
    ++sums.seeds;
    sums.cases += options.rounds;
    sums.loads += score->loads;
    for (const auto& [name, n] : score->outcomes) sums.outcomes[name] += n;
    if (!score->disagreements.empty()) {
      ++sums.bad;
      tell_disagreement(options, seed, plan, *score);
    }
  }
  return sums;
}

// Runs chunks in processes, as many at once as there are jobs; `done` is told of each in its order.
class Dealer {
 public:
  Dealer(const Options& options, std::uint64_t seeds) : options_(options), left_(seeds) {}

  Sums run(Sums sums) {
    next_ = options_.first + sums.seeds;
    left_ = left_ > sums.seeds ? left_ - sums.seeds : 0;
    while (left_ > 0 || !running_.empty()) {
      while (left_ > 0 && running_.size() < options_.jobs) deal();
      collect(sums);
    }
    return sums;
  }

 private:
  struct Chunk {
    std::uint64_t first;
    std::uint64_t seeds;
    std::size_t slot;  // whose file systems it has
    sys::UniqueFd result;
  };

  void deal() {
    std::size_t slot = 0;
    const auto taken = [&](const auto& running) { return running.second.slot == slot; };
    while (std::any_of(running_.begin(), running_.end(), taken)) ++slot;
    Chunk chunk{next_, std::min(kChunk, left_), slot, sys::memory_file("sums").value()};
    next_ += chunk.seeds;
    left_ -= chunk.seeds;
    std::cout.flush();
    const pid_t pid = ::fork();
    if (pid == 0) {
      Options mine = options_;
      mine.bench.bases = options_.bases[slot];
      mine.bench.states = options_.states[slot];
      const auto sums = play_chunk(mine, chunk.first, chunk.seeds);
      if (!sums) std::cerr << "the test itself failed: " << sums.error().text << std::endl;
      const std::string line = sums ? to_line(*sums) : "";
      const bool told = ::write(chunk.result.get(), line.data(), line.size()) > 0;
      ::_exit(told ? 0 : 1);
    }
    running_.emplace(pid, std::move(chunk));
  }

  void collect(Sums& sums) {
    int status = 0;
    const auto ended = running_.find(::wait(&status));
    if (ended == running_.end()) return;
    const Chunk& chunk = ended->second;
    if (status == 0) {
      sums.add(from_line(sys::read_memory_file(chunk.result.get(), 1U << 20).value()));
    } else {
      std::cout << fmt::format("seeds {} to {}: {}\n", chunk.first, chunk.first + chunk.seeds - 1,
                               sys::describe_end(status));
      sums.seeds += chunk.seeds;
      ++sums.bad;
    }
    running_.erase(ended);
    save(sums);
  }

  // What can be resumed is what was done without a gap: no chunk is running.
  void save(Sums sums) {
    if (options_.progress.empty()) return;
    sums.seconds += seconds();
    // Those that run now are played again after a stop: their seeds follow the ones that are done.
    if (!running_.empty() && running_.begin()->second.first < options_.first + sums.seeds) return;
    std::ofstream(options_.progress + "~") << to_line(sums);
    std::rename((options_.progress + "~").c_str(), options_.progress.c_str());
  }

 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  const Options& options_;
  std::uint64_t next_ = 0;
  std::uint64_t left_;
  std::map<pid_t, Chunk> running_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

int run_many(const Options& options) {
  Sums before;
  if (std::ifstream saved(options.progress); saved) {
    std::string line;
    std::getline(saved, line);
    before = from_line(line);
  }
  Dealer dealer(options, (options.count + options.rounds - 1) / options.rounds);
  Sums sums = dealer.run(before);
  sums.seconds += dealer.seconds();
  std::string ends;
  for (const auto& [name, n] : sums.outcomes) ends += fmt::format(", {} {}", n, name);
  std::cout << fmt::format("virtiofsd {}: {} cases of {} seeds from {}, {} loads ({}), {:.0f} s: {} seeds "
                           "with disagreements\n",
                           options.bench.version, sums.cases, sums.seeds, options.first, sums.loads,
                           ends.empty() ? "none" : ends.substr(2), sums.seconds, sums.bad);
  return sums.bad == 0 && sums.loads > 0 ? 0 : 1;
}

int run_one(const Options& options, const Plan& plan) {
  const auto score = play(options.bench, plan, "replay");
  if (!score) {
    std::cerr << score.error().text << "\n";
    return 1;
  }
  for (const std::string& line : score->disagreements) std::cout << line << "\n";
  std::cout << fmt::format("{} loads, {} disagreements\n", score->loads, score->disagreements.size());
  return score->disagreements.empty() && score->loads > 0 ? 0 : 1;
}

// Of the test bed.
std::string daemon_of(const std::string& version) {
  const char* bed = std::getenv("VFSMEND_TESTBED");
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string caches = cache != nullptr ? cache : std::string(home != nullptr ? home : "") + "/.cache";
  return (bed != nullptr ? bed : caches + "/vfsmend/testbed") + "/virtiofsd-" + version;
}

int skip(std::string_view why) {
  std::cout << "skipped: " << why << "\n";
  return std::getenv("VFSMEND_REQUIRE_TESTBED") != nullptr ? 1 : kSkipped;
}

int run(Options& options, const po::variables_map& given, const std::string& directory) {
  const auto shop = set_up_workshop(directory, options.jobs);
  if (!shop) return skip(shop.error().text);
  if (!shop->missing.empty()) std::cout << "without: " << shop->missing << "\n";
  options.bases = shop->bases;
  options.states = shop->states;
  options.bench.bases = shop->bases.front();
  options.bench.states = shop->states.front();
  if (given.count("replay") != 0) {
    std::ifstream file(given["replay"].as<std::string>());
    const auto plan = from_text(std::string(std::istreambuf_iterator<char>(file), {}));
    if (plan) return run_one(options, *plan);
    std::cerr << given["replay"].as<std::string>() << ": no plan\n";
    return 16;
  }
  if (given.count("seed") != 0) {
    const Plan plan = generate(given["seed"].as<std::uint64_t>(), options.rounds);
    if (given.count("print") != 0) std::cout << to_text(plan);
    return run_one(options, plan);
  }
  return run_many(options);
}

int main_with(int argc, char** argv) {
  Options options;
  options.program = argv[0];
  po::options_description known("The model against a real virtiofsd, on random cases");
  known.add_options()("help", "this text")(
      "version", po::value(&options.bench.version)->default_value("1.13.2"), "of the test bed's daemons")(
      "virtiofsd", po::value(&options.bench.virtiofsd), "another program")(
      "count", po::value(&options.count)->default_value(2000), "cases")(
      "first", po::value(&options.first)->default_value(1), "first seed")(
      "rounds", po::value(&options.rounds)->default_value(5), "cases a seed: one tree and session")(
      "jobs", po::value(&options.jobs)->default_value(2), "processes")(
      "progress", po::value(&options.progress), "file with the sums so far: goes on from there")(
      "seed", po::value<std::uint64_t>(), "this one only, and what disagrees in it")(
      "print", "with --seed: the plan")("replay", po::value<std::string>(), "a plan in a file");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, known), given);
  po::notify(given);
  if (given.count("help") != 0) {
    std::cout << known;
    return 0;
  }
  if (::geteuid() != 0) return skip("not root");
  if (options.bench.virtiofsd.empty()) options.bench.virtiofsd = daemon_of(options.bench.version);
  auto version = daemon::version_of(options.bench.virtiofsd, sys::Deadline::in(std::chrono::seconds(10)));
  if (!version) return skip(version.error().text + " (scripts/fetch-testbed brings it)");
  options.bench.version = *version;
  std::string directory = "/tmp/vfsmend-differential-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return skip("no directory in /tmp");
  const int status = run(options, given, directory);
  ::umount2(directory.c_str(), MNT_DETACH);
  ::rmdir(directory.c_str());
  return status;
}

}  // namespace
}  // namespace vfsmend::differential

int main(int argc, char** argv) {
  try {
    return vfsmend::differential::main_with(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 16;
  }
}
