// SPDX-License-Identifier: Apache-2.0
// A broken invariant of our own: say where, and abort. Never for input.
#pragma once

#include <cstdio>
#include <cstdlib>

#define VFSMEND_CHECK(COND)                                                              \
  do {                                                                                   \
    if (!(COND)) {                                                                       \
      std::fprintf(stderr, "%s:%d: broken invariant: %s\n", __FILE__, __LINE__, #COND);  \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
