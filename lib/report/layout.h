// SPDX-License-Identifier: Apache-2.0
// Text in columns, for a terminal of any width. Words are never cut: a path that is longer than
// the line stands on its own and can be copied whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vfsmend {

// Columns of valid UTF-8 in a terminal: none for combining marks, two for East Asian wide forms
// and emoji.
[[nodiscard]] std::size_t columns_of(std::string_view utf8);

// "1 handle", "3 handles".
[[nodiscard]] std::string counted(std::uint64_t n, std::string_view what);

// `text` broken at its spaces and at '\n', lines after the first begun with `indent` spaces. The
// first line has `used` columns already. No line end at the end.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t width, std::size_t indent,
                               std::size_t used = 0);

// `name` at column `indent` and `text` at column `at`, or below the name where it is longer or the
// screen is narrow. With a line end.
[[nodiscard]] std::string definition(std::string_view name, std::string_view text,
                                     std::size_t width, std::size_t indent, std::size_t at);

}  // namespace vfsmend
