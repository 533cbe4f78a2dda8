// SPDX-License-Identifier: Apache-2.0
// put_state SNAPSHOT KEPT_NAME {DEVICE STATE_FILE} ..: puts the bytes of each file into the snapshot
// as the state of that device, and keeps the original beside the new file. Exit 1 with the error.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "snapshot/open.h"
#include "snapshot/splice.h"

namespace {

using namespace vfsmend;

std::vector<std::uint8_t> bytes_of(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Result<void> put(const std::string& path, const std::string& kept,
                 const std::vector<Replacement>& states) {
  std::optional<ContainerKind> recognised;
  VFSMEND_TRY_ASSIGN(const Snapshot snapshot, open_snapshot(sys::kernel(), path, {}, recognised));
  VFSMEND_TRY_ASSIGN(const SplicedFile spliced, splice(sys::kernel(), snapshot, states));
  VFSMEND_TRY(write_spliced(sys::kernel(), spliced, kept));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc % 2 == 0) return 16;
  std::vector<Replacement> states;
  for (int i = 3; i < argc; i += 2) states.push_back({argv[i], bytes_of(argv[i + 1])});
  const Result<void> done = put(argv[1], argv[2], states);
  if (!done) std::fprintf(stderr, "%s\n", done.error().text.c_str());
  return done ? 0 : 1;
}
