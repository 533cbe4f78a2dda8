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

void fetch_heap(std::uint64_t bytes) {
  constexpr std::uint64_t kLeast = std::uint64_t{256} << 10;
  constexpr std::uint64_t kMost = std::uint64_t{32} << 20;
  constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
  if (bytes < kLeast) return;
  bytes = std::min(bytes, kMost) + kHugePage;  // so that one fits in, however the heap lies
  // From the heap proper, which keeps what is freed, not from a mapping of its own.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  void* const block = std::malloc(bytes);
  if (block == nullptr) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(block) + page - 1) / page * page;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(block) + bytes) / page * page;
  // Errors are an older kernel's: then the pages come one by one, as they always did.
  (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
  std::free(block);
}

}  // namespace vfsmend::sys
