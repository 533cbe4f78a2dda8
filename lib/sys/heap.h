// SPDX-License-Identifier: Apache-2.0
// Memory in one go. Where the host is itself virtual the first touch of a page costs more than a
// system call, and a check of ten thousand inodes touches a thousand pages.
#pragma once

#include <cstdint>

namespace vfsmend::sys {

// Makes about so many bytes of the heap ready: what is allocated next needs no page fault. For a
// process that ends soon (a worker): it keeps what it is given. Without effect where the kernel
// (before Linux 5.14) or the C library cannot; 32 MiB at most, and nothing below 256 KiB.
void fetch_heap(std::uint64_t bytes);

// Makes memory ready that was just allocated and is about to be written whole: its pages come in
// one call. Not as huge pages: a virtual host that has given its free memory back pays three times
// as much for those when they are cold. Nothing below 256 KiB, or before Linux 5.14.
void fetch_pages(void* begin, std::uint64_t bytes);

}  // namespace vfsmend::sys
