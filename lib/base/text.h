// SPDX-License-Identifier: Apache-2.0
// Text as the real programs print it (Rust's Display and Debug forms), and as we show it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace vfsmend {

// The C library's text of an errno, without a number: "No such file or directory".
// glibc's texts are the ones virtiofsd prints: Rust's std asks strerror_r too.
[[nodiscard]] std::string errno_text(int err);

// Rust's Display of io::Error::from_raw_os_error: "No such file or directory (os error 2)".
[[nodiscard]] std::string os_error_text(int err);

// RFC 3629 as Rust's from_utf8 has it: no overlong forms, no surrogates, at most U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view s);

// Rust's from_utf8_lossy: every maximal ill-formed part becomes one U+FFFD.
[[nodiscard]] std::string utf8_lossy(std::string_view s);

// Rust's Debug form of a str: quoted, with \" \\ \n \r \t \0 and other
// control characters as \u{7f}.
[[nodiscard]] std::string rust_debug(std::string_view s);

// Lower-case hex, a space between bytes: "6b 62 a7 00".
[[nodiscard]] std::string spaced_hex(Bytes b);

[[nodiscard]] std::string base64(std::string_view s);
// Nothing where it is none: another letter, or not padded to a multiple of four.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view s);

// For a terminal or a log: UTF-8 stays, control characters and invalid bytes become \n, \t, \x1b.
// A tenant chooses file names; they must not reach the terminal as escape sequences.
[[nodiscard]] std::string printable(std::string_view s);

}  // namespace vfsmend
