// SPDX-License-Identifier: Apache-2.0
#include "sys/shared_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "support/descriptors.h"

namespace vfsmend::sys {
namespace {

Deadline in_ms(int time) { return Deadline::in(std::chrono::milliseconds(time)); }

TEST(SharedMemory, IsZerosAndSharedThroughItsDescriptor) {
  auto memory = SharedMemory::make(10'000);
  ASSERT_TRUE(memory) << memory.error().text;
  EXPECT_EQ(memory->size(), 10'000U);
  EXPECT_TRUE(std::all_of(memory->data(), memory->data() + memory->size(),
                          [](std::uint8_t byte) { return byte == 0; }));
  memory->data()[9'999] = 7;
  std::uint8_t there = 0;
  ASSERT_EQ(::pread(memory->fd(), &there, 1, 9'999), 1);
  EXPECT_EQ(there, 7);
  ASSERT_EQ(::pwrite(memory->fd(), "x", 1, 0), 1);
  EXPECT_EQ(memory->data()[0], 'x');
}

TEST(SharedMemory, StaysWhereItIsWhenItIsMoved) {
  const std::size_t before = test::open_descriptors();
  {
    auto made = SharedMemory::make(4096);
    ASSERT_TRUE(made);
    const std::uint8_t* data = made->data();
    const SharedMemory moved = std::move(*made);
    EXPECT_EQ(moved.data(), data);
    moved.data()[0] = 1;
  }
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST(SharedMemory, OfNoSizeIsAnError) {
  const auto memory = SharedMemory::make(0);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().text, "mmap: Invalid argument");
}

TEST(MemoryFile, HoldsItsContentAndIsAtItsStart) {
  const auto file = memory_file("test", as_bytes("twelve bytes"));
  ASSERT_TRUE(file);
  std::array<char, 6> read{};
  ASSERT_EQ(::read(file->get(), read.data(), read.size()), 6);
  EXPECT_EQ(std::string(read.data(), read.size()), "twelve");
  EXPECT_EQ(read_memory_file(file->get(), 12).value_or("?"), "twelve bytes");
  ASSERT_EQ(::read(file->get(), read.data(), read.size()), 6) << "the offset has moved";
  EXPECT_EQ(std::string(read.data(), read.size()), " bytes");
}

TEST(MemoryFile, IsEmptyUnlessToldOtherwise) {
  const auto file = memory_file("test");
  ASSERT_TRUE(file);
  EXPECT_EQ(read_memory_file(file->get(), 0).value_or("?"), "");
}

TEST(MemoryFile, OverTheLimitIsNotRead) {
  const auto file = memory_file("test", as_bytes("12345"));
  ASSERT_TRUE(file);
  const auto text = read_memory_file(file->get(), 4);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kLimit);
  EXPECT_EQ(text.error().text, "5 bytes, more than the limit of 4");
}

TEST(MemoryFile, ADescriptorThatIsNoneIsAnError) {
  const auto text = read_memory_file(-1, 4);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().sys_errno, EBADF);
}

TEST(Event, ASignalIsTakenOnce) {
  const auto event = event_fd();
  ASSERT_TRUE(event);
  EXPECT_FALSE(await_event(event->get(), in_ms(0)));
  signal_event(event->get());
  signal_event(event->get());
  EXPECT_TRUE(await_event(event->get(), in_ms(0)));
  EXPECT_FALSE(await_event(event->get(), in_ms(20))) << "both were taken at once";
}

TEST(Event, AFullCounterStillWakes) {
  const auto event = event_fd();
  ASSERT_TRUE(event);
  const std::uint64_t most = ~std::uint64_t{0} - 1;
  ASSERT_EQ(::write(event->get(), &most, sizeof most), ssize_t{sizeof most});
  signal_event(event->get());  // does not fit, and does not block
  EXPECT_TRUE(await_event(event->get(), in_ms(0)));
}

}  // namespace
}  // namespace vfsmend::sys
