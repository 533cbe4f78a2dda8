// SPDX-License-Identifier: Apache-2.0
// Which program wrote a state, and which program is going to read it.
//
// v1 and cube-v1 bear the same version number on the wire: bytes alone do not always tell them
// apart, so the reader is fixed by the profile or the container, and guessed only without either.
#pragma once

#include <optional>
#include <string_view>

namespace vfsmend {

enum class Dialect {
  kV1,      // virtiofsd 1.11: leading byte 0, Path of two fields
  kV2,      // virtiofsd 1.12 and later: leading byte 1, mount paths behind
  kCubeV1,  // CubeSandbox: leading byte 0, Path of three fields
};

enum class Reader {
  kVirtiofsd,    // 1.12 and later: V1 or V2, by the leading byte
  kVirtiofsd11,  // 1.11: V1 only
  kCube,         // cube-v1 only
};

// "v1", "v2", "cube-v1": the names on the command line and in reports.
[[nodiscard]] std::string_view name_of(Dialect dialect);
[[nodiscard]] std::optional<Dialect> dialect_named(std::string_view name);

// The reader that a state of this dialect is meant for.
[[nodiscard]] Reader reader_for(Dialect dialect);

}  // namespace vfsmend
