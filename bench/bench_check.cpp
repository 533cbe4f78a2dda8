// SPDX-License-Identifier: Apache-2.0
// A check on a real share, warm: as a call of the library, and as a process from fork to exit.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "tree.h"
#include "verdict/check.h"

namespace vfsmend::bench {
namespace {

constexpr std::int64_t kSmallest = 1'000;
constexpr std::int64_t kLargest = 1'000'000;

void check_in_process(benchmark::State& run) {
  const Fixture& share = fixture(static_cast<std::uint64_t>(run.range(0)));
  CheckRequest request;
  request.snapshot_path = share.state_file;
  request.shares = {{"", share.share}};
  request.profile = Profile::kVirtiofsd;
  for (auto _ : run) {
    const auto report = check(sys::kernel(), request, [](auto) {});
    VFSMEND_CHECK(report && report->verdict == Verdict::kResume);
  }
  run.SetItemsProcessed(run.iterations() * run.range(0));
}
BENCHMARK(check_in_process)->RangeMultiplier(10)->Range(kSmallest, kLargest)
    ->Unit(benchmark::kMillisecond)->UseRealTime();

int run_check(const Fixture& share) {
  const char* argv[] = {VFSMEND_BINARY, "check", "--profile", "virtiofsd", "--format", "json",
                        "--shared-dir", share.share.c_str(), share.state_file.c_str(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int err = posix_spawn(&pid, VFSMEND_BINARY, &actions, nullptr,
                              const_cast<char* const*>(argv), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  VFSMEND_CHECK(err == 0 && ::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void check_as_a_process(benchmark::State& run) {
  const Fixture& share = fixture(static_cast<std::uint64_t>(run.range(0)));
  for (auto _ : run) VFSMEND_CHECK(run_check(share) == 0);
  run.SetItemsProcessed(run.iterations() * run.range(0));
}
BENCHMARK(check_as_a_process)->RangeMultiplier(10)->Range(kSmallest, kLargest)
    ->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace vfsmend::bench
