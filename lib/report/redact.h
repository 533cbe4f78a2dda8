// SPDX-License-Identifier: Apache-2.0
// Names may be secrets of a tenant, and reports get into logs and tickets. Each part of a path
// becomes a token that depends on its bytes alone: the same name has the same token in every
// report, so that what belongs together can still be seen.
//
// The token is a 40-bit digest. It hides a name from a reader, not from somebody who can try all
// names that he expects.
#pragma once

#include <string>
#include <string_view>

#include "verdict/report.h"

namespace vfsmend {

// "/srv/a b" -> "/~0f3c.../~91d0...". "", "." and ".." stay.
[[nodiscard]] std::string redact_path(std::string_view path);

// A text of our own about `path`, which stands in it.
[[nodiscard]] std::string redact_text(std::string_view text, std::string_view path);

// Every path of the report, in the texts too: those that a member holds, those that a loader's
// text names, and whatever begins with a slash.
void redact_paths(Report& report);

}  // namespace vfsmend
