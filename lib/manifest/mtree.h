// SPDX-License-Identifier: Apache-2.0
// A section as a specification of mtree(8), for the tools of others: one line an entry, with its
// path from the root, as NetBSD's `mtree -C` writes them.
#pragma once

#include <string>

#include "manifest/manifest.h"

namespace vfsmend {

// Keywords: type mode uid gid nlink size time link device. Names are encoded as vis(3) does with
// VIS_OCTAL; those in which mtree would see a pattern have a backslash before each byte that makes it
// one. What is known by its name alone is left out, and so are hashes and attributes, which
// the format has no words for.
[[nodiscard]] std::string mtree_text(const ManifestSection& section);

}  // namespace vfsmend
