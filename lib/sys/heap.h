// SPDX-License-Identifier: Apache-2.0
// Memory in one go. Where the host is itself virtual the first touch of a page costs more than a
// system call, and a check of ten thousand inodes touches a thousand pages. Never as huge pages: they
// come from memory that nobody has touched lately, and a host that has taken free memory back pays ten
// times as much for it, just when a program has not run for some seconds.
#pragma once

#include <cstdint>

namespace vfsmend::sys {

// Makes about so many bytes of the heap ready: what is allocated next needs no page fault. For a
// process that ends soon (a worker): it keeps what it is given. Without effect where the kernel
// (before Linux 5.14) or the C library cannot; 32 MiB at most, and nothing below 256 KiB.
void fetch_heap(std::uint64_t bytes);

// Makes memory ready that was just allocated and is about to be written whole: its pages come in
// one call. Nothing below 256 KiB, or before Linux 5.14.
void fetch_pages(void* begin, std::uint64_t bytes);

}  // namespace vfsmend::sys
