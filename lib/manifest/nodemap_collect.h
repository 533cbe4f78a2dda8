// SPDX-License-Identifier: Apache-2.0
// Taking a node map, inside the guest: every file of one FUSE mount that a process has open, stands
// in, has mapped or executes.
//
//  1. /proc lists the processes and what they hold; each is taken by O_PATH through its link there,
//     which opens no file, so that all that follows is about one object;
//  2. name_to_handle_at(2): on a FUSE mount the handle is the node id and its generation;
//  3. statx(2) with AT_STATX_DONT_SYNC: the inode number and link count that the kernel has cached;
//  4. the text of the link, less the mount point, is the path.
//
// None of it asks the server of the file system anything: a mount whose server is dead, or answers
// each request with an error, gives its map too. Only a process that is left out is told
// (warnings); one that ends meanwhile is not.
#pragma once

#include <string>

#include "base/result.h"
#include "manifest/nodemap.h"
#include "sys/calls.h"

namespace vfsmend {

// kUsage: `mount_point` is none, or not one of a FUSE file system (virtiofs is one). Compared with
// /proc/self/mountinfo as text: a look at the path could ask the server.
[[nodiscard]] Result<NodeMap> collect_node_map(sys::Calls& calls, const std::string& mount_point);

}  // namespace vfsmend
