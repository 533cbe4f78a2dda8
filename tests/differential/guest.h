// SPDX-License-Identifier: Apache-2.0
// The guest of a case: plays a plan's steps against a real daemon, and has its state saved.
#pragma once

#include <map>
#include <string>

#include "daemon/fuse_session.h"
#include "plan.h"

namespace vfsmend::differential {

class Guest {
 public:
  explicit Guest(daemon::FuseSession session) : session_(std::move(session)) {}

  // An error is the transport's: what the daemon refuses is part of the game.
  [[nodiscard]] Result<void> apply(const Step& step);
  [[nodiscard]] Result<void> stop() { return session_.stop(); }

 private:
  // The node of `path`, looked up part by part where that was not done; 0: it is not there.
  [[nodiscard]] Result<NodeId> node_of(const std::string& path);
  [[nodiscard]] Result<NodeId> look_up(NodeId parent, const std::string& path);
  [[nodiscard]] Result<void> open(const Step& step, NodeId node);

  daemon::FuseSession session_;
  std::map<std::string, NodeId> nodes_{{"", kRootId}};
};

}  // namespace vfsmend::differential
