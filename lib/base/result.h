// SPDX-License-Identifier: Apache-2.0
// "Could not look" as a value. A damaged subject is a Finding (verdict/finding.h), a bug is
// VFSMEND_CHECK (check.h); what is left, an operation that failed, is a Result<T>.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace vfsmend {

enum class ErrorCode {
  kUsage,        // the caller asked for something that cannot be: exit 16
  kSystem,       // a system call failed; sys_errno says how
  kFormat,       // a container is damaged, at the place the text names
  kNotAState,    // the file is readable, and is nothing we know
  kUnsupported,  // recognised, and not read by this version
  kLimit,        // larger than a bound that protects us
  kTimeout,      // the deadline passed
};

// An error is told once, at the top. Each level on the way up puts what it was working on in
// front: "state.json: device virtio_rw: back_state: value 300 at byte 812 is not a byte".
struct Error {
  ErrorCode code = ErrorCode::kSystem;
  int sys_errno = 0;  // errno of the failed call; 0 where there was none
  std::string text;

  [[nodiscard]] Error context(std::string_view prefix) && {
    text.insert(0, ": ").insert(0, prefix);
    return std::move(*this);
  }
};

template <typename T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string text) {
  return tl::make_unexpected(Error{code, 0, std::move(text)});
}

// A failed system call: "<what>: <text of err>".
[[nodiscard]] tl::unexpected<Error> fail_errno(int err, std::string_view what);

}  // namespace vfsmend

#define VFSMEND_CONCAT_(a, b) a##b
#define VFSMEND_CONCAT(a, b) VFSMEND_CONCAT_(a, b)

// Leaves the function with the error of EXPR, if it has one.
#define VFSMEND_TRY(EXPR)                                                          \
  do {                                                                             \
    if (auto try_result_ = (EXPR); !try_result_) {                                 \
      return ::tl::make_unexpected(std::move(try_result_).error());                \
    }                                                                              \
  } while (false)

// VFSMEND_TRY_ASSIGN(const auto x, f()): x is the value of f(), or the function is left.
#define VFSMEND_TRY_ASSIGN(DECL, EXPR)                                             \
  auto VFSMEND_CONCAT(try_value_, __LINE__) = (EXPR);                              \
  if (!VFSMEND_CONCAT(try_value_, __LINE__)) {                                     \
    return ::tl::make_unexpected(                                                  \
        std::move(VFSMEND_CONCAT(try_value_, __LINE__)).error());                  \
  }                                                                                \
  DECL = *std::move(VFSMEND_CONCAT(try_value_, __LINE__))
