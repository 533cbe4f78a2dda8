// SPDX-License-Identifier: Apache-2.0
#include "state/dialect.h"

namespace vfsmend {

std::string_view name_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::kV1: return "v1";
    case Dialect::kV2: return "v2";
    case Dialect::kCubeV1: return "cube-v1";
  }
  return "?";
}

std::optional<Dialect> dialect_named(std::string_view name) {
  for (const Dialect d : {Dialect::kV1, Dialect::kV2, Dialect::kCubeV1}) {
    if (name == name_of(d)) return d;
  }
  return std::nullopt;
}

Reader reader_for(Dialect dialect) {
  return dialect == Dialect::kCubeV1 ? Reader::kCube : Reader::kVirtiofsd;
}

}  // namespace vfsmend
