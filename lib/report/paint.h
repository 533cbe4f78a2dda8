// SPDX-License-Identifier: Apache-2.0
// How a text is to look, decided by the caller: this library asks no terminal.
#pragma once

#include <string>
#include <string_view>

#include "verdict/finding.h"

namespace vfsmend {

struct TextStyle {
  unsigned width = 80;  // columns
  bool color = false;
};

enum class Paint { kBold, kDim, kRed, kGreen, kYellow, kMagenta };

// `text` between the SGR sequences of ECMA-48, or as it is.
[[nodiscard]] std::string paint(std::string_view text, Paint how, const TextStyle& style);

[[nodiscard]] Paint paint_of(Verdict verdict);

}  // namespace vfsmend
