# SPDX-License-Identifier: Apache-2.0
# Every dependency is a Debian 12 package; CONTRIBUTING.md gives the reason for each.
# The program is one static file (tools/vfsmend/CMakeLists.txt): Boost as an archive, and of fmt only
# the headers (lib/base/fmt.cpp).
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(fmt REQUIRED)
find_package(RapidJSON REQUIRED)
find_package(Threads REQUIRED)
find_path(TL_EXPECTED_INCLUDE_DIR tl/expected.hpp REQUIRED)
# zstd as an archive, for the same reason; of xxHash the header is all.
find_path(ZSTD_INCLUDE_DIR zstd.h REQUIRED)
find_library(ZSTD_ARCHIVE libzstd.a REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
if(VFSMEND_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  include(GoogleTest)
endif()
if(VFSMEND_BENCH)
  find_package(benchmark REQUIRED)
endif()
