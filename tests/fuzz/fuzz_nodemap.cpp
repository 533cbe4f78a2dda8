// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "manifest/nodemap.h"
#include "manifest/nodemap_check.h"
#include "targets.h"

namespace vfsmend::fuzz {

void fuzz_nodemap(Bytes input) {
  const auto map = parse_node_map(as_text(input));
  if (!map) {
    VFSMEND_CHECK(!map.error().text.empty());
    return;
  }
  // What was read is written, and read again, as the same.
  const std::string text = node_map_text(*map);
  const auto again = parse_node_map(text);
  VFSMEND_CHECK(again.has_value());
  VFSMEND_CHECK(again->entries == map->entries);
  VFSMEND_CHECK(node_map_text(*again) == text);
  // No path of it leads anywhere where there is no share.
  const NodeMapCheck check = check_node_map(sys::kernel(), -1, *map);
  VFSMEND_CHECK(check.placed.empty());
}

}  // namespace vfsmend::fuzz
