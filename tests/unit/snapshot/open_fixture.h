// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "snapshot/open.h"
#include "support/temp_dir.h"

namespace vfsmend::test {

// What open_snapshot makes of a path.
struct Opened {
  Result<Snapshot> result = fail(ErrorCode::kSystem, "not opened");
  std::optional<ContainerKind> recognised;

  [[nodiscard]] bool ok() const { return result.has_value(); }
  [[nodiscard]] std::string text() const { return result ? "" : result.error().text; }
  [[nodiscard]] ErrorCode code() const { return result.error().code; }
  [[nodiscard]] const SnapshotDevice& device(std::size_t i = 0) const {
    return result->devices.at(i);
  }
};

inline Opened open_path(const std::string& path, const OpenOptions& options = {},
                        sys::Calls& calls = sys::kernel()) {
  Opened out;
  out.result = open_snapshot(calls, path, options, out.recognised);
  return out;
}

inline ByteVector bytes_of(std::initializer_list<int> values) {
  return {values.begin(), values.end()};
}

inline std::string text_at(const StateSpan& span) {
  return read_text(span.file).substr(span.begin, span.end - span.begin);
}

}  // namespace vfsmend::test
