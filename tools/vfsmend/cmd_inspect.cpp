// SPDX-License-Identifier: Apache-2.0
#include "vfsmend/commands.h"
namespace vfsmend {
Result<int> cmd_inspect(const Parsed&, const Io&) { return fail(ErrorCode::kUsage, "not yet"); }
}  // namespace vfsmend
