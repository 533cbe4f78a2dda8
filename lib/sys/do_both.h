// SPDX-License-Identifier: Apache-2.0
// Two pieces of work at the same time.
#pragma once

#include <system_error>
#include <thread>

namespace vfsmend::sys {

// Does both, `one` on a second thread where there is a core for it.
template <typename One, typename Other>
void do_both(One one, Other other) {
  std::thread helper;
  if (std::thread::hardware_concurrency() > 1) {
    try {
      helper = std::thread(one);
    } catch (const std::system_error&) {  // no more threads here: this one does it all
    }
  }
  if (!helper.joinable()) one();
  other();
  if (helper.joinable()) helper.join();
}

}  // namespace vfsmend::sys
