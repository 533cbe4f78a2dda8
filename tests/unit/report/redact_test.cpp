// SPDX-License-Identifier: Apache-2.0
#include "report/redact.h"

#include <gtest/gtest.h>

#include "report/json.h"
#include "report/text.h"
#include "sample.h"

namespace vfsmend {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Redact, GivesTheSameNameTheSameToken) {
  EXPECT_EQ(redact_path("/a/b"), redact_path("/a") + "/" + redact_path("b"));
  EXPECT_NE(redact_path("a"), redact_path("b"));
  EXPECT_EQ(redact_path("../."), "../.");
  EXPECT_EQ(redact_path(""), "");
  EXPECT_EQ(redact_path("a").size(), 11U);
}

TEST(Redact, LeavesNoNameInAReport) {
  Report report = test::sample_report();
  DeviceReport& device = report.devices[0];
  device.restore.error =
      "Inode 9: Opening /srv/s/my secret/plan B: No such file or directory (os error 2)";
  device.restore.wrapped =
      "InvalidVirtioFsState(Custom { kind: NotFound, error: \"Inode 9: Opening /srv/s/my "
      "secret/plan B: No such file or directory (os error 2)\" })";
  device.elsewhere[0].error = "Opening inode 4 (/srv/s/other one) as handle 2: Is a directory";
  device.findings.push_back(test::gone(9, "my secret/plan B"));
  Finding& finding = device.findings.back();
  finding.message = "my secret/plan B is a directory now";
  finding.after = {{"original", "/mnt/elsewhere/plan B"}};
  finding.repair->action = "rewrite the path in the state to /mnt/elsewhere/plan B";
  finding.repair->casualties = {"handle 3 on my secret/plan B"};
  report.reason = "/snap/sb1: cannot be opened";
  redact_paths(report);
  const std::string all = report_json(report, 4) + report_jsonl(report, 4) +
                          report_text(report, 4, TextStyle{80, false});
  for (const char* name : {"secret", "plan", "srv", "/snap", "sb1", "data.bin", "other one",
                           "mnt"}) {
    EXPECT_FALSE(has(all, name)) << name << "\n" << all;
  }
  EXPECT_EQ(finding.path, redact_path("my secret/plan B"));
  EXPECT_EQ(finding.message, finding.path + " is a directory now");
  EXPECT_EQ(*device.restore.error, "Inode 9: Opening " + redact_path("/srv/s/my secret/plan B") +
                                       ": No such file or directory (os error 2)");
  EXPECT_TRUE(has(*device.restore.wrapped, "kind: NotFound"));
}

TEST(Redact, FindsNamesAsRustPrintsThem) {
  Report report = test::sample_report();
  DeviceReport& device = report.devices[0];
  device.restore.error = "Inode 9: Opening /d/new\nline: No such file or directory (os error 2)";
  device.restore.wrapped = "error: \"Inode 9: Opening /d/new\\nline: No such file or directory "
                           "(os error 2)\"";
  redact_paths(report);
  EXPECT_FALSE(has(*device.restore.error, "line")) << *device.restore.error;
  EXPECT_FALSE(has(*device.restore.wrapped, "line")) << *device.restore.wrapped;
}

TEST(Redact, LeavesWordsThatAreNoNames) {
  Report report = test::sample_report();
  report.devices[0].findings[0].path = "d/a";
  report.devices[0].findings[0].message = "a directory was lost and a file too";
  report.assumptions = {"no file is leased and/or executed"};
  redact_paths(report);
  EXPECT_EQ(report.devices[0].findings[0].message, "a directory was lost and a file too");
  EXPECT_EQ(report.assumptions[0], "no file is leased and/or executed");
}

}  // namespace
}  // namespace vfsmend
