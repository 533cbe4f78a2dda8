// SPDX-License-Identifier: Apache-2.0
// put_state SNAPSHOT KEPT_NAME {DEVICE STATE_FILE} ..: puts the bytes of each file into the
// snapshot as the state of that device, and keeps the original beside the new file. Exit 1 with the
// error.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "snapshot/open.h"
#include "snapshot/splice.h"

namespace {

using namespace vfsmend;

Result<ByteVector> bytes_of(const char* path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(ErrorCode::kSystem, std::string(path) + ": cannot be read");
  return ByteVector(std::istreambuf_iterator<char>(in), {});
}

// argv as main has it.
Result<void> put(const std::vector<const char*>& argv) {
  const std::string path = argv[1];
  std::vector<Replacement> states;
  for (std::size_t i = 3; i < argv.size(); i += 2) {
    VFSMEND_TRY_ASSIGN(ByteVector state, bytes_of(argv[i + 1]));
    states.push_back({argv[i], std::move(state)});
  }
  std::optional<ContainerKind> recognised;
  VFSMEND_TRY_ASSIGN(const Snapshot snapshot, open_snapshot(sys::kernel(), path, {}, recognised));
  VFSMEND_TRY_ASSIGN(const SplicedFile spliced, splice(sys::kernel(), snapshot, states));
  VFSMEND_TRY(write_spliced(sys::kernel(), sys::kernel_changes(), spliced, argv[2]));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc % 2 == 0) return 16;
  const Result<void> done = put({argv, argv + argc});
  if (!done) std::fprintf(stderr, "%s\n", done.error().text.c_str());
  return done ? 0 : 1;
}
