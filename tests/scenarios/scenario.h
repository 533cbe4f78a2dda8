// SPDX-License-Identifier: Apache-2.0
// A share, a guest that knows part of it through a real virtiofsd, the state that the daemon saves,
// and the commands that people run: capture, then whatever happens on the host, then check.
//
// Every check is made twice and must say the same, and must leave the share as it was.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/fuse_session.h"
#include "daemon/virtiofsd.h"
#include "state/fs_state.h"
#include "support/temp_dir.h"

namespace vfsmend::test {

// What a check said.
struct Said {
  int exit = -1;
  std::string verdict;
  std::map<std::string, int> counts;  // by code
  std::string json;
  std::string journal;  // of a repair that changed something

  // "M001 M001 T001": all codes, in order.
  [[nodiscard]] std::string codes() const;
  [[nodiscard]] bool mentions(std::string_view text) const {
    return json.find(text) != std::string::npos;
  }
};

class Scenario : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // The share. Another directory than the usual one may be set before anything else is done.
  [[nodiscard]] std::string at(std::string_view name) const;
  void write(std::string_view name, std::string_view bytes) const;
  void set_share(std::string directory) { share_ = std::move(directory); }
  [[nodiscard]] const std::string& share() const { return share_; }
  [[nodiscard]] std::string scratch(std::string_view name) const { return dir_ / name; }

  // The guest: looks a path up, component by component, and opens files.
  void start_daemon(std::vector<std::string> switches = {});
  NodeId look_up(std::string_view path);
  HandleId open(std::string_view path, std::int32_t flags);
  HandleId create(std::string_view name, std::int32_t flags);
  void unlink(std::string_view name);  // in the root, by the guest
  // The pause: the daemon saves its state, which becomes the snapshot.
  void pause();
  // The same, and the daemon stays, as it does until the VMM has ended: its process id.
  pid_t pause_and_keep_daemon();
  void end_daemon() { daemon_.reset(); }

  // `vfsmend capture`, which must succeed, and what it prints as JSON.
  std::string capture(std::vector<std::string> more = {});
  Said check(std::vector<std::string> more = {});
  // The other error policy.
  Said check_guest_error(std::vector<std::string> more = {});

  // `vfsmend repair`, with -n, -p or -y, and `vfsmend undo`.
  Said repair(const std::string& mode, std::vector<std::string> more = {});
  int undo(const std::string& journal, std::vector<std::string> more = {});
  // Any other command: its exit status.
  static int run_vfsmend(const std::vector<std::string>& args);
  // The exit status of `vfsmend rehearse`: the real daemon loads it, and says what the model says.
  int rehearse();

  // Replaces the name of the inode at `from` in the state by `to`, as a repair would.
  void rewrite_path(std::string_view from, std::string_view to);
  // The state that the snapshot holds.
  [[nodiscard]] ByteVector state_bytes() const;
  void save(const ByteVector& state) const { dir_.write("snapshot", state); }
  [[nodiscard]] const std::string& snapshot() const { return snapshot_; }
  [[nodiscard]] std::string fingerprint_of_snapshot() const;

  // The host.
  static void sh(const std::string& command);
  // A private mount namespace for this test; skips it where there is none.
  static void private_mounts();
  // An ext4 image of 64 MiB, mounted at a new directory, which is returned.
  std::string mount_ext4(const std::string& name);

 private:
  Said check_once(const std::vector<std::string>& more);
  Said run(const std::string& command, const std::vector<std::string>& more);

  TempDir dir_;
  std::string share_;
  std::string snapshot_;
  std::optional<daemon::Virtiofsd> daemon_;
  std::optional<daemon::FuseSession> session_;
  std::map<std::string, NodeId> known_;
};

// Everything of a tree that looking could change, as text: times, modes, attributes, names.
[[nodiscard]] std::string fingerprint(const std::string& directory);

}  // namespace vfsmend::test
