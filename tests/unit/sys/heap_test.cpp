// SPDX-License-Identifier: Apache-2.0
#include "sys/heap.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <memory>

namespace vfsmend::test {
namespace {

[[maybe_unused]] long page_faults() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST(Heap, IsTouchedWithoutPageFaultsOnceItIsFetched) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has an allocator of its own";
#else
  constexpr std::size_t kBytes = std::size_t{4} << 20;  // 1,024 pages
  sys::fetch_heap(2 * kBytes);
  const long before = page_faults();
  const auto block = std::make_unique<char[]>(kBytes);
  std::memset(block.get(), 1, kBytes);
  EXPECT_LT(page_faults() - before, 512);
#endif
}

TEST(Heap, IsLeftAloneForALittle) { sys::fetch_heap(1); }

}  // namespace
}  // namespace vfsmend::test
