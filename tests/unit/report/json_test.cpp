// SPDX-License-Identifier: Apache-2.0
#include "report/json.h"

#include <gtest/gtest.h>

#include <sstream>

#include "sample.h"
#include "support/json_schema.h"

namespace vfsmend {
namespace {

using test::JsonSchema;
using test::sample_report;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(ReportJson, IsTheDocumentThatReadersKnow) {
  const std::string expected =
      R"({"schema":"vfsmend.report/1","tool":")" + std::string(tool_name()) +
      R"(","verdict":"repair","exit_code":4,"trace_id":"t-1",)"
      R"("snapshot":{"path":"/snap/sb1","container":"cube"},"manifest":null,)"
      R"("findings":[],"counts":{"S004":1},)"
      R"("devices":[{"id":"virtio_rw","tag":"virtio_rw","shared_dir":"/srv/s",)"
      R"("dialect":"cube-v1","profile":"cube-abort","on_error":"abort","inodes":12,"handles":3,)"
      R"("verdict":"repair","restore":{"outcome":"fails",)"
      R"("error":"Inode 7: Migration source has lost inode 7","wrapped":null,)"
      R"("invalid_inodes":["7","18446744073709551615"],"invalid_handles":[],"dead_mount":false},)"
      R"("elsewhere":[{"profile":"cube-guest-error","outcome":"succeeds","error":null,)"
      R"("dead_mount":false,"on_error":"guest-error"}],)"
      R"("findings":[{"code":"S004","severity":"F","inode":"7","handle":null,)"
      R"("path":"d/data.bin","path_b64":null,"open":true,"message":"the source lost it",)"
      R"("before":{"location":"Invalid"},"after":{},"guest_sees":"EIO",)"
      R"-("repair":{"action":"drop it","safe":false,"casualties":["handle 2 (O_RDWR)"],)-"
      R"("applied":false}}]}],"assumptions":["the limit of descriptors is not known"],)"
      R"("timing_us":{"decode":1,"walk":2,"hash":0,"total":4},"reason":null})"
      "\n";
  EXPECT_EQ(report_json(sample_report(), 4), expected);
}

TEST(ReportJson, IsAsItsSchemaSays) {
  const JsonSchema schema("report.schema.json");
  EXPECT_EQ(schema.complaint(report_json(sample_report(), 4)), "");
  EXPECT_EQ(schema.complaint(report_json(Report(), 0)), "");
  Report refused;
  refused.reason = "not root";
  refused.verdict = Verdict::kIndeterminate;
  EXPECT_EQ(schema.complaint(report_json(refused, 8)), "");
  EXPECT_EQ(schema.complaint(report_json(refused, 32)), "");
}

TEST(ReportJson, EveryCodeAndEveryEnumerationIsInTheSchema) {
  const JsonSchema schema("report.schema.json");
  Report report = sample_report();
  for (const CodeInfo& entry : all_codes()) {
    Finding finding;
    finding.code = entry.code;
    report.findings.push_back(finding);
    report.counts[std::string(entry.id)] = 1;
  }
  DeviceReport& device = report.devices.front();
  for (const Dialect dialect : {Dialect::kV1, Dialect::kV2, Dialect::kCubeV1}) {
    device.dialect = dialect;
    for (const Outcome outcome :
         {Outcome::kSucceeds, Outcome::kFails, Outcome::kHangs, Outcome::kUnknown}) {
      device.restore.outcome = outcome;
      EXPECT_EQ(schema.complaint(report_json(report, 4)), "");
    }
  }
  for (const ContainerKind kind : {ContainerKind::kCloudHypervisor, ContainerKind::kQemu,
                                   ContainerKind::kLibvirt, ContainerKind::kRaw}) {
    report.container = kind;
    EXPECT_EQ(schema.complaint(report_json(report, 4)), "");
  }
}

TEST(ReportJson, GivesTheBytesOfAPathThatIsNotUtf8) {
  Report report = sample_report();
  report.devices[0].findings[0].path = "caf\xe9.txt";
  const std::string json = report_json(report, 4);
  EXPECT_NE(json.find("\"path\":\"caf\xef\xbf\xbd.txt\",\"path_b64\":\"Y2Fm6S50eHQ=\""),
            std::string::npos)
      << json;
}

TEST(ReportJson, LetsNoControlCharacterOrDirectionMarkThrough) {
  Report report = sample_report();
  // ESC, DEL, the one-byte CSI of ECMA-48 in UTF-8, and RIGHT-TO-LEFT OVERRIDE.
  report.devices[0].findings[0].path = "a\n\x1b[31m\x7f\xc2\x9b\xe2\x80\xae\"\\";
  const std::string json = report_json(report, 4);
  EXPECT_NE(json.find(R"("path":"a\n\u001b[31m\u007f\u009b\u202e\"\\")"), std::string::npos)
      << json;
}

TEST(ReportJsonLines, HasAHeaderALineAFindingAndASummary) {
  Report report = sample_report();
  report.findings.push_back(test::gone(9, "x"));
  const std::vector<std::string> lines = lines_of(report_jsonl(report, 4));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_TRUE(lines[0].starts_with(R"({"schema":"vfsmend.report/1","line":"report","tool":)"));
  EXPECT_TRUE(lines[1].starts_with(R"({"line":"finding","device":null,"code":"P001")"));
  EXPECT_TRUE(lines[2].starts_with(R"({"line":"finding","device":"virtio_rw","code":"S004")"));
  EXPECT_TRUE(lines[3].starts_with(R"({"line":"summary","verdict":"repair","exit_code":4,)"));
  for (const std::string& line : lines) {
    rapidjson::Document document;
    EXPECT_FALSE(document.Parse(line.c_str()).HasParseError()) << line;
  }
  EXPECT_EQ(lines[3].find("\"findings\""), std::string::npos);
}

}  // namespace
}  // namespace vfsmend
