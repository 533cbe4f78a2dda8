// SPDX-License-Identifier: Apache-2.0
// What needs no host: decoding a state, encoding it, and the order of its load.
#include <benchmark/benchmark.h>

#include "state/codec.h"
#include "tree.h"
#include "verdict/load_order.h"

namespace vfsmend::bench {
namespace {

constexpr std::int64_t kSmallest = 1'000;
constexpr std::int64_t kLargest = 1'000'000;

void per_inode(benchmark::State& run) {
  run.SetItemsProcessed(run.iterations() * run.range(0));
}

void decode_state(benchmark::State& run) {
  const ByteVector bytes = state_of(static_cast<std::uint64_t>(run.range(0)));
  for (auto _ : run) benchmark::DoNotOptimize(decode(bytes, Reader::kVirtiofsd));
  per_inode(run);
}
BENCHMARK(decode_state)->RangeMultiplier(10)->Range(kSmallest, kLargest)
    ->Unit(benchmark::kMicrosecond);

void encode_state(benchmark::State& run) {
  const ByteVector bytes = state_of(static_cast<std::uint64_t>(run.range(0)));
  const auto decoded = decode(bytes, Reader::kVirtiofsd);
  for (auto _ : run) benchmark::DoNotOptimize(encode(decoded->state, Dialect::kV2));
  per_inode(run);
}
BENCHMARK(encode_state)->RangeMultiplier(10)->Range(kSmallest, kLargest)
    ->Unit(benchmark::kMicrosecond);

void order_of_load(benchmark::State& run) {
  const ByteVector bytes = state_of(static_cast<std::uint64_t>(run.range(0)));
  const auto decoded = decode(bytes, Reader::kVirtiofsd);
  for (auto _ : run) {
    benchmark::DoNotOptimize(load_order(decoded->state, NodeIndex(decoded->state)));
  }
  per_inode(run);
}
BENCHMARK(order_of_load)->RangeMultiplier(10)->Range(kSmallest, kLargest)
    ->Unit(benchmark::kMicrosecond);

// The loader itself is quadratic here.
void order_of_a_chain(benchmark::State& run) {
  State chain;
  chain.inodes.push_back({kRootId, 3, RootNode{}, {}});
  for (NodeId id = 2; id <= static_cast<NodeId>(run.range(0)); ++id) {
    chain.inodes.push_back({id, 2, Path{id - 1, "d", {}}, {}});
  }
  for (auto _ : run) benchmark::DoNotOptimize(load_order(chain, NodeIndex(chain)));
  per_inode(run);
}
BENCHMARK(order_of_a_chain)->RangeMultiplier(10)->Range(kSmallest, kLargest)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace vfsmend::bench
