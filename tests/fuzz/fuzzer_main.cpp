// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry to the target that VFSMEND_FUZZ_TARGET names.
#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vfsmend::fuzz::VFSMEND_FUZZ_TARGET({data, size});
  return 0;
}
