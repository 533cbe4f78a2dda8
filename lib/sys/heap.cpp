// SPDX-License-Identifier: Apache-2.0
#include "sys/heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace vfsmend::sys {
namespace {

constexpr std::uint64_t kLeast = std::uint64_t{256} << 10;

// madvise(2) for the whole pages of a block.
void advise(void* block, std::uint64_t bytes, int advice) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t skipped = -reinterpret_cast<std::uintptr_t>(block) % page;
  if (skipped >= bytes) return;
  // Errors are an older kernel's: then the pages come one by one, as they always did.
  (void)::madvise(static_cast<char*>(block) + skipped, (bytes - skipped) / page * page, advice);
}

}  // namespace

void fetch_heap(std::uint64_t bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{32} << 20;
  if (bytes < kLeast) return;
  bytes = std::min(bytes, kMost);
  // From the heap proper, which keeps what is freed, not from a mapping of its own.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  void* const block = std::malloc(bytes);
  if (block == nullptr) return;
  advise(block, bytes, MADV_POPULATE_WRITE);
  std::free(block);
}

void fetch_pages(void* begin, std::uint64_t bytes) {
  if (bytes >= kLeast) advise(begin, bytes, MADV_POPULATE_WRITE);
}

}  // namespace vfsmend::sys
