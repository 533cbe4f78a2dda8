// SPDX-License-Identifier: Apache-2.0
// The walk of the library (sys/walk.h) as a program, to be measured against find and bfs: prints how
// many entries are below a directory.
#include <fcntl.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "sys/read_file.h"
#include "sys/walk.h"

int main(int argc, char** argv) {
  using namespace vfsmend;
  const auto root = argc == 2 ? sys::locate(sys::kernel(), AT_FDCWD, argv[1])
                              : Result<sys::Located>(fail(ErrorCode::kUsage, "walk_names DIRECTORY"));
  if (!root) return std::fprintf(stderr, "%s\n", root.error().text.c_str()), 2;
  std::atomic<std::uint64_t> entries{0};
  const unsigned helpers = std::max(1U, std::thread::hardware_concurrency()) - 1;
  const std::uint64_t unreadable =
      sys::walk_names(sys::kernel(), root->fd.get(), helpers,
                      [&](const std::string&, std::span<const sys::WalkEntry> piece) {
                        entries += piece.size();
                        return true;
                      });
  std::printf("%llu\n", static_cast<unsigned long long>(entries));
  return unreadable == 0 ? 0 : 1;
}
