// SPDX-License-Identifier: Apache-2.0
// The manifest file, beside the same entries as lines of JSON that RapidJSON reads and throws away.
// `real_tree` is of the directory that VFSMEND_BENCH_TREE names, else /usr.
#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdlib>
#include <string>

#include "manifest/blocks.h"
#include "real_tree.h"
#include "support/manifest_builder.h"

namespace vfsmend::bench {
namespace {

constexpr std::int64_t kSmallest = 1'000;
constexpr std::int64_t kLargest = 1'000'000;

void per_entry(benchmark::State& run, std::size_t entries, std::size_t bytes) {
  run.SetItemsProcessed(run.iterations() * static_cast<std::int64_t>(entries));
  run.counters["bytes_per_entry"] = static_cast<double>(bytes) / static_cast<double>(entries);
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<std::uint8_t>(c));
  return out;
}

std::string json_lines(const EntryTable& e) {
  std::string out;
  rapidjson::StringBuffer buffer;
  for (std::size_t i = 0; i < e.size_of(); ++i) {
    buffer.Clear();
    rapidjson::Writer<rapidjson::StringBuffer> line(buffer);
    const auto number = [&line](const char* key, std::uint64_t value) {
      line.Key(key);
      line.Uint64(value);
    };
    const auto text = [&line](const char* key, std::string_view value) {
      line.Key(key);
      line.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    };
    line.StartObject();
    number("parent", e.parent[i]);
    text("name", e.name[i]);
    number("mode", e.mode[i]);
    number("uid", e.uid[i]);
    number("gid", e.gid[i]);
    number("nlink", e.nlink[i]);
    number("size", e.size[i]);
    number("ino", e.ino[i]);
    number("mtime", static_cast<std::uint64_t>(e.mtime[i]));
    number("ctime", static_cast<std::uint64_t>(e.ctime[i]));
    number("btime", static_cast<std::uint64_t>(e.btime[i]));
    text("handle", hex(e.handle[i]));
    number("xattrs", e.xattrs[i]);
    line.EndObject();
    out.append(buffer.GetString(), buffer.GetSize()).append("\n");
  }
  return out;
}

void decode(benchmark::State& run, const Manifest& manifest) {
  const ByteVector file = test::encoded(manifest);
  for (auto _ : run) benchmark::DoNotOptimize(decode_manifest(file));
  per_entry(run, manifest.sections[0].entries.size_of(), file.size());
}

void encode(benchmark::State& run, const Manifest& manifest) {
  std::size_t bytes = 0;
  for (auto _ : run) bytes = test::encoded(manifest).size();
  per_entry(run, manifest.sections[0].entries.size_of(), bytes);
}

void read_json(benchmark::State& run, const Manifest& manifest) {
  const std::string lines = json_lines(manifest.sections[0].entries);
  for (auto _ : run) {
    rapidjson::MemoryStream in(lines.data(), lines.size());
    rapidjson::Reader reader;
    rapidjson::BaseReaderHandler<> nobody;
    std::size_t entries = 0;
    while (reader.Parse<rapidjson::kParseStopWhenDoneFlag>(in, nobody)) ++entries;
    if (entries != manifest.sections[0].entries.size_of()) run.SkipWithError("not all was read");
  }
  per_entry(run, manifest.sections[0].entries.size_of(), lines.size());
}

Manifest tree(const benchmark::State& run) {
  return test::synthetic_tree(static_cast<std::uint32_t>(run.range(0)));
}

void decode_manifest_file(benchmark::State& run) { decode(run, tree(run)); }
BENCHMARK(decode_manifest_file)->RangeMultiplier(10)->Range(kSmallest, kLargest)
    ->Unit(benchmark::kMicrosecond);

void encode_manifest_file(benchmark::State& run) { encode(run, tree(run)); }
BENCHMARK(encode_manifest_file)->RangeMultiplier(10)->Range(kSmallest, kLargest)
    ->Unit(benchmark::kMicrosecond);

void rapidjson_lines(benchmark::State& run) { read_json(run, tree(run)); }
BENCHMARK(rapidjson_lines)->RangeMultiplier(10)->Range(kSmallest, kLargest)
    ->Unit(benchmark::kMicrosecond);

const Manifest& usr() {
  static const Manifest manifest = [] {
    const char* directory = std::getenv("VFSMEND_BENCH_TREE");
    return real_tree(directory ? directory : "/usr");
  }();
  return manifest;
}

// With the bytes an entry of each column, which is where a better transform would be seen.
void real_tree_decode(benchmark::State& run) {
  if (usr().sections.empty()) return run.SkipWithError("no such directory");
  decode(run, usr());
  const auto entries = static_cast<double>(usr().sections[0].entries.size_of());
  run.counters["entries"] = entries;
  const ByteVector file = test::encoded(usr());
  const auto blocks = read_blocks(file);
  for (const Block& block : *blocks) {
    run.counters[std::string(name_of(block.kind))] =
        static_cast<double>(block.stored.size()) / entries;
  }
}
BENCHMARK(real_tree_decode)->Unit(benchmark::kMicrosecond);

void real_tree_encode(benchmark::State& run) {
  if (usr().sections.empty()) return run.SkipWithError("no such directory");
  encode(run, usr());
}
BENCHMARK(real_tree_encode)->Unit(benchmark::kMicrosecond);

void real_tree_rapidjson(benchmark::State& run) {
  if (usr().sections.empty()) return run.SkipWithError("no such directory");
  read_json(run, usr());
}
BENCHMARK(real_tree_rapidjson)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace vfsmend::bench
