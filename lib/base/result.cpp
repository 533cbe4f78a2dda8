// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <fmt/core.h>

#include "base/text.h"

namespace vfsmend {

tl::unexpected<Error> fail_errno(int err, std::string_view what) {
  return tl::make_unexpected(
      Error{ErrorCode::kSystem, err, fmt::format("{}: {}", what, errno_text(err))});
}

}  // namespace vfsmend
