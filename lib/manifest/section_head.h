// SPDX-License-Identifier: Apache-2.0
// What a manifest has beside its columns, in the primitives of postcard (state/postcard.h); texts
// are `bytes`, since none of them need be UTF-8.
//
//   facts   = vec<key:bytes value:bytes>                                           (block "facts")
//   section = device:bytes share:bytes real_share:bytes fs_magic:u64 fs_id:u64 whole_tree:bool
//             facts devices:vec<u64> xattr_sets:vec<facts> mounts:vec<mount>
//             entries:u64                                                        (block "section")
//   mount   = id:u64 place:bytes fs_type:bytes source:bytes options:bytes read_only:bool
//             super_read_only:bool
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "manifest/manifest.h"

namespace vfsmend {

using Facts = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] ByteVector encode_facts(const Facts& facts);
[[nodiscard]] ByteVector encode_section_head(const ManifestSection& section);

// `memory` is what may still be allocated, in bytes; what is goes off it. kFormat names the byte of
// the expanded block.
[[nodiscard]] Result<Facts> decode_facts(Bytes raw, std::uint64_t& memory);
// -> number of entries; all else in `section`, whose entries are not touched.
[[nodiscard]] Result<std::uint64_t> decode_section_head(Bytes raw, std::uint64_t& memory,
                                                        ManifestSection& section);

// What the columns of a section promise one another; kFormat names column and position.
[[nodiscard]] Result<void> check_consistent(const ManifestSection& section);

}  // namespace vfsmend
