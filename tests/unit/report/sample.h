// SPDX-License-Identifier: Apache-2.0
// Reports made by hand, for the printers.
#pragma once

#include "verdict/report.h"

namespace vfsmend::test {

inline Finding lost_file() {
  Finding finding;
  finding.code = Code::kS004;
  finding.verdict = Verdict::kRepair;
  finding.inode = 7;
  finding.path = "d/data.bin";
  finding.open = true;
  finding.message = "the source lost it";
  finding.before = {{"location", "Invalid"}};
  finding.guest_sees = "EIO";
  finding.repair = Remedy{"drop it", false, {"handle 2 (O_RDWR)"}};
  return finding;
}

inline Finding gone(NodeId inode, std::string path) {
  Finding finding;
  finding.code = Code::kP001;
  finding.verdict = Verdict::kRepair;
  finding.inode = inode;
  finding.message = "Opening /srv/s/" + path + ": No such file or directory (os error 2)";
  finding.path = std::move(path);
  finding.guest_sees = "EIO on the path";
  finding.repair = Remedy{"drop it from the state", true, {}};
  return finding;
}

inline Report sample_report() {
  Report report;
  report.trace_id = "t-1";
  report.snapshot_path = "/snap/sb1";
  report.container = ContainerKind::kCube;
  report.verdict = Verdict::kRepair;
  report.counts = {{"S004", 1}};
  DeviceReport& device = report.devices.emplace_back();
  device.id = "virtio_rw";
  device.tag = "virtio_rw";
  device.shared_dir = "/srv/s";
  device.dialect = Dialect::kCubeV1;
  device.profile = Profile::kCubeAbort;
  device.inodes = 12;
  device.handles = 3;
  device.verdict = Verdict::kRepair;
  device.restore.outcome = Outcome::kFails;
  device.restore.error = "Inode 7: Migration source has lost inode 7";
  device.restore.invalid_inodes = {7, 18446744073709551615U};
  device.elsewhere.push_back({Profile::kCubeGuestError, OnError::kGuestError, Outcome::kSucceeds,
                              std::nullopt, false});
  device.findings = {lost_file()};
  report.assumptions = {"the limit of descriptors is not known"};
  report.timing = {1, 2, 0, 4};
  return report;
}

}  // namespace vfsmend::test
