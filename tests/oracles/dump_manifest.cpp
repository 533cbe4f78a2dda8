// SPDX-License-Identifier: Apache-2.0
// Prints what a manifest says of each entry, a JSON object a line. Names and values are bytes, so they
// are printed as hex. The tool itself has no such command: for people there is `check`.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/manifest_file.h"

namespace {

using namespace vfsmend;

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string attributes(const XattrSet& set) {
  std::vector<std::string> members;
  for (const auto& [name, value] : set) members.push_back(fmt::format(R"("{}":"{}")", hex(name), hex(value)));
  return fmt::format("{{{}}}", fmt::join(members, ","));
}

void print(const ManifestSection& section) {
  const EntryTable& e = section.entries;
  std::vector<std::string> paths(e.size_of());
  for (std::size_t i = 0; i < e.size_of(); ++i) {
    const bool is_top = e.parent[i] == kNoParent || e.parent[i] == 0;
    paths[i] = is_top ? std::string(e.name[i]) : paths[e.parent[i]] + "/" + std::string(e.name[i]);
    fmt::print(R"({{"path":"{}","mode":{},"uid":{},"gid":{},"nlink":{},"size":{},"dev":{},"ino":{},"rdev":{},)"
               R"("mtime":{},"ctime":{},"handle_type":{},"handle":"{}","target":"{}","notes":{},"xattrs":{}}})"
               "\n",
               hex(paths[i]), e.mode[i], e.uid[i], e.gid[i], e.nlink[i], e.size[i],
               section.devices[e.device[i]], e.ino[i], e.rdev[i], e.mtime[i], e.ctime[i], e.handle_type[i],
               hex(e.handle[i]), hex(e.target[i]), e.notes[i], attributes(section.xattr_sets[e.xattrs[i]]));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: dump_manifest FILE\n");
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto manifest = decode_manifest(as_bytes(bytes));
  if (!manifest) {
    fmt::print(stderr, "{}: {}\n", argv[1], manifest.error().text);
    return 1;
  }
  for (const ManifestSection& section : manifest->sections) print(section);
  return 0;
}
