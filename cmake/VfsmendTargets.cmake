# SPDX-License-Identifier: Apache-2.0
# The two kinds of target: one static library a folder of lib/, and one test
# program a folder of tests/unit. Warnings and sanitizers are INTERFACE targets,
# so that neither leaks into what is installed.

add_library(vfsmend_options INTERFACE)
target_compile_options(vfsmend_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wcast-align
  -Wconversion -Wno-sign-conversion -Wunused -Woverloaded-virtual
  # g++ 12 sees overlaps in std::string's operator+ that are not there (GCC PR 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${VFSMEND_WERROR}>:-Werror>)
if(VFSMEND_SANITIZE)
  target_compile_options(vfsmend_options INTERFACE
    -fsanitize=${VFSMEND_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    # g++ takes what it instruments in std::regex and std::function for uninitialized.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(vfsmend_options INTERFACE -fsanitize=${VFSMEND_SANITIZE})
  # xxHash insists on inlining what -Og does not.
  target_compile_definitions(vfsmend_options INTERFACE XXH_NO_INLINE_HINTS=1)
endif()
if(VFSMEND_FUZZ)
  target_compile_options(vfsmend_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# A test is run once: what takes most of the time to compile, and finds little in code like theirs, is left
# to the library. These come behind vfsmend_options, or its options would win.
add_library(vfsmend_test_options INTERFACE)
target_compile_options(vfsmend_test_options INTERFACE $<$<CONFIG:Release>:-O1>)
if(VFSMEND_SANITIZE MATCHES undefined)
  target_compile_options(vfsmend_test_options INTERFACE -fno-sanitize=vptr,null,alignment,object-size)
endif()

# vfsmend_library(<folder> SOURCES a.cpp .. HEADERS a.h .. [LINKS <folder|target> ..])
# The target is vfsmend_<folder>; it may use only what LINKS names (ARCHITECTURE.md,
# tests/arrows).
function(vfsmend_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;LINKS" ${ARGN})
  add_library(vfsmend_${folder} STATIC ${ARG_SOURCES})
  target_sources(vfsmend_${folder} PUBLIC FILE_SET HEADERS
    BASE_DIRS "${PROJECT_SOURCE_DIR}/lib" FILES ${ARG_HEADERS})
  target_link_libraries(vfsmend_${folder} PUBLIC ${ARG_LINKS}
    PRIVATE $<BUILD_INTERFACE:vfsmend_options>)
  set_property(GLOBAL APPEND PROPERTY VFSMEND_LIBRARIES vfsmend_${folder})
endfunction()

# vfsmend_test(<name> SOURCES a_test.cpp .. LINKS <target> .. [LABELS <label> ..])
function(vfsmend_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} vfsmend_options vfsmend_test_options
    GTest::gtest_main GTest::gmock)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${name} PRIVATE
    VFSMEND_SOURCE_DIR="${PROJECT_SOURCE_DIR}" VFSMEND_BINARY_DIR="${PROJECT_BINARY_DIR}")
  set(properties TIMEOUT 300)
  if(ARG_LABELS)
    list(APPEND properties LABELS "${ARG_LABELS}")
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 30
    PROPERTIES ${properties})
endfunction()
