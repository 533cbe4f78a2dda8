// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

#include <fcntl.h>

namespace vfsmend::differential {
namespace {

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}
std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A refusal of the daemon is no error here.
template <typename T>
Result<void> unless_refused(const Result<T>& result) {
  if (result || result.error().code == ErrorCode::kSystem) return {};
  return tl::make_unexpected(result.error());
}

}  // namespace

Result<NodeId> Guest::look_up(NodeId parent, const std::string& path) {
  const auto looked = session_.lookup(parent, name_in(path));
  VFSMEND_TRY(unless_refused(looked));
  if (!looked) return NodeId{0};
  nodes_[path] = looked->node;
  return looked->node;
}

Result<NodeId> Guest::node_of(const std::string& path) {
  if (const auto known = nodes_.find(path); known != nodes_.end()) return known->second;
  VFSMEND_TRY_ASSIGN(const NodeId parent, node_of(parent_of(path)));
  if (parent == 0) return NodeId{0};
  return look_up(parent, path);
}

Result<void> Guest::open(const Step& step, NodeId node) {
  const auto handle = session_.open(node, static_cast<std::int32_t>(step.n));
  VFSMEND_TRY(unless_refused(handle));
  return {};
}

Result<void> Guest::apply(const Step& step) {
  VFSMEND_TRY_ASSIGN(const NodeId parent, node_of(parent_of(step.a)));
  if (parent == 0 || step.a.empty()) {
    if (step.kind == Kind::kOpenDir) return unless_refused(session_.opendir(kRootId));
    return {};
  }
  const std::string name = name_in(step.a);
  if (step.kind == Kind::kCreate) {
    const auto made = session_.create(parent, name, static_cast<std::int32_t>(step.n) | O_CREAT, 0644);
    if (made) nodes_[step.a] = made->looked.node;
    return unless_refused(made);
  }
  if (step.kind == Kind::kGuestUnlink) return unless_refused(session_.unlink(parent, name));
  VFSMEND_TRY_ASSIGN(const NodeId node, node_of(step.a));
  if (node == 0) return {};
  switch (step.kind) {
    case Kind::kLookup:
      for (std::uint64_t i = 1; i < step.n; ++i) VFSMEND_TRY(look_up(parent, step.a));
      return {};
    case Kind::kForget:
      nodes_.erase(step.a);
      return session_.forget(node, step.n);
    case Kind::kOpen: return open(step, node);
    case Kind::kOpenDir: return unless_refused(session_.opendir(node));
    case Kind::kWrite: {
      const auto handle = session_.open(node, O_WRONLY);
      VFSMEND_TRY(unless_refused(handle));
      if (!handle) return {};
      VFSMEND_TRY(unless_refused(session_.write(node, *handle, step.n, "written")));
      return unless_refused(session_.release(node, *handle, false));
    }
    case Kind::kGuestRename: {
      VFSMEND_TRY_ASSIGN(const NodeId into, node_of(parent_of(step.b)));
      if (into == 0) return {};
      const auto renamed = session_.rename(parent, name, into, name_in(step.b));
      if (renamed) nodes_.erase(step.a);
      return unless_refused(renamed);
    }
    default: return {};
  }
}

}  // namespace vfsmend::differential
