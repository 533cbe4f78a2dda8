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

// The whole pages of a block.
struct Pages {
  void* begin;
  std::size_t size;
};

Pages pages_of(const void* block, std::uint64_t bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(block) + page - 1) / page * page;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(block) + bytes) / page * page;
  return {reinterpret_cast<void*>(begin), end - begin};
}

}  // namespace

void fetch_heap(std::uint64_t bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{32} << 20;
  constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
  if (bytes < kLeast) return;
  bytes = std::min(bytes, kMost) + kHugePage;  // so that one fits in, however the heap lies
  // From the heap proper, which keeps what is freed, not from a mapping of its own.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  void* const block = std::malloc(bytes);
  if (block == nullptr) return;
  const Pages pages = pages_of(block, bytes);
  // Errors are an older kernel's: then the pages come one by one, as they always did.
  (void)::madvise(pages.begin, pages.size, MADV_HUGEPAGE);
  (void)::madvise(pages.begin, pages.size, MADV_POPULATE_WRITE);
  std::free(block);
}

void fetch_pages(const void* begin, std::uint64_t bytes) {
  if (bytes < kLeast) return;
  const Pages pages = pages_of(begin, bytes);
  (void)::madvise(pages.begin, pages.size, MADV_POPULATE_WRITE);
}

}  // namespace vfsmend::sys
