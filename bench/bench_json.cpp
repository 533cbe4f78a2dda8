// SPDX-License-Identifier: Apache-2.0
// A CubeSandbox state.json: read for its states, beside RapidJSON's SAX parser, in situ, that does
// the same over bytes already in memory: the outer text, then the text inside its string.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <rapidjson/reader.h>
#include <rapidjson/stream.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/check.h"
#include "snapshot/open.h"
#include "tree.h"

namespace vfsmend::bench {
namespace {

struct Package {
  Package() = default;
  Package(const Package&) = delete;
  Package& operator=(const Package&) = delete;
  ~Package() {
    std::error_code ignored;
    std::filesystem::remove_all(dir, ignored);
  }

  std::string dir;
  std::string text;  // of state.json
  std::size_t state_bytes = 0;
};

std::string state_json(const ByteVector& state) {
  std::string numbers;
  numbers.reserve(state.size() * 4);
  for (const std::uint8_t byte : state) {
    if (!numbers.empty()) numbers += ',';
    fmt::format_to(std::back_inserter(numbers), "{}", byte);
  }
  const std::string device =
      R"({\"avail_features\":1,\"acked_features\":1,\"back_state\":[)" + numbers + "]}";
  return R"({"id":"vm","snapshots":{"device-manager":{"id":"device-manager","snapshots":{)"
         R"("virtio_rw":{"id":"virtio_rw","snapshots":{},"snapshot_data":{"virtio_rw-section":)"
         R"({"id":"virtio_rw-section","snapshot":")" + device +
         R"("}}}},"snapshot_data":{}}},"snapshot_data":{}})";
}

const Package& package(std::uint64_t inodes) {
  static std::map<std::uint64_t, Package> made;
  auto [at, is_new] = made.try_emplace(inodes);
  if (!is_new) return at->second;
  std::string dir = (std::filesystem::temp_directory_path() / "vfsmend-bench-XXXXXX").string();
  VFSMEND_CHECK(::mkdtemp(dir.data()) != nullptr);
  Package& out = at->second;
  out.dir = dir;
  const ByteVector state = state_of(inodes);
  out.state_bytes = state.size();
  out.text = state_json(state);
  std::ofstream(dir + "/state.json", std::ios::binary) << out.text;
  std::ofstream(dir + "/config.json")
      << R"({"fs":[{"tag":"virtio_rw","id":"virtio_rw","backendfs_config":{"shared_dir":"/"}}]})";
  return out;
}

void open_cube(benchmark::State& run) {
  const Package& in = package(static_cast<std::uint64_t>(run.range(0)));
  for (auto _ : run) {
    std::optional<ContainerKind> kind;
    const auto snapshot = open_snapshot(sys::kernel(), in.dir, {}, kind);
    VFSMEND_CHECK(snapshot && snapshot->devices.size() == 1 &&
                  snapshot->devices[0].state->size() == in.state_bytes);
  }
  run.SetBytesProcessed(run.iterations() * static_cast<std::int64_t>(in.text.size()));
}
BENCHMARK(open_cube)->RangeMultiplier(10)->Range(1'000, 1'000'000)
    ->Unit(benchmark::kMillisecond);

// Collects the bytes of the array that the text inside a string holds.
struct ArrayHandler : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, ArrayHandler> {
  bool Uint(unsigned value) {
    if (in_array) bytes.push_back(static_cast<std::uint8_t>(value));
    return true;
  }
  bool StartArray() { return in_array = true; }
  bool EndArray(rapidjson::SizeType) {
    in_array = false;
    return true;
  }

  bool in_array = false;
  ByteVector bytes;
};

struct OuterHandler : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, OuterHandler> {
  bool String(const char* text, rapidjson::SizeType size, bool) {
    if (size < 1024) return true;
    // In situ: the text is the caller's own, and nobody else reads it again.
    rapidjson::InsituStringStream stream(const_cast<char*>(text));
    return !rapidjson::Reader().Parse<rapidjson::kParseInsituFlag>(stream, array).IsError();
  }

  ArrayHandler array;
};

void rapidjson_in_situ(benchmark::State& run) {
  const Package& in = package(static_cast<std::uint64_t>(run.range(0)));
  for (auto _ : run) {
    run.PauseTiming();
    std::string text = in.text;
    run.ResumeTiming();
    rapidjson::InsituStringStream stream(text.data());
    OuterHandler handler;
    rapidjson::Reader reader;
    VFSMEND_CHECK(!reader.Parse<rapidjson::kParseInsituFlag>(stream, handler).IsError());
    VFSMEND_CHECK(handler.array.bytes.size() == in.state_bytes);
  }
  run.SetBytesProcessed(run.iterations() * static_cast<std::int64_t>(in.text.size()));
}
BENCHMARK(rapidjson_in_situ)->RangeMultiplier(10)->Range(1'000, 1'000'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace vfsmend::bench
