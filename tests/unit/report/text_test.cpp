// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "report/layout.h"
#include "sample.h"

namespace vfsmend {
namespace {

using test::sample_report;

TEST(ReportText, TellsAnOrdinaryCaseOnOneScreen) {
  const std::string text = report_text(sample_report(), 4, TextStyle{80, false});
  EXPECT_EQ(text,
            "/snap/sb1 (cube), trace t-1\n"
            "\n"
            "device     dialect  inodes  handles  profile     verdict\n"
            "virtio_rw  cube-v1      12        3  cube-abort  repair\n"
            "\n"
            "virtio_rw: under abort the restore fails:\n"
            "    Inode 7: Migration source has lost inode 7\n"
            "  2 inodes dead: 7, 18446744073709551615\n"
            "  elsewhere (cube-guest-error): succeeds\n"
            "\n"
            "S004 repair: inode Invalid, and a handle or a child depends on it\n"
            "  - d/data.bin (inode 7, open): the source lost it\n"
            "  the guest sees: EIO\n"
            "  repair: drop it\n"
            "  it costs: handle 2 (O_RDWR)\n"
            "\n"
            "assumed: the limit of descriptors is not known\n"
            "\n"
            "verdict: repair (exit 4)\n"
            "next: vfsmend explain S004\n");
}

TEST(ReportText, TellsManyOfOneCodeByAHandful) {
  Report report = sample_report();
  DeviceReport& device = report.devices[0];
  device.findings.clear();
  for (NodeId i = 2; i < 40; ++i) device.findings.push_back(test::gone(i, "f" + std::to_string(i)));
  report.counts = {{"P001", 900}};  // the list was cut
  const std::string text = report_text(report, 4, TextStyle{80, false});
  EXPECT_NE(text.find("P001 repair: looked-up path is gone (900 times)\n"), std::string::npos);
  EXPECT_NE(text.find("  - inode 6: Opening /srv/s/f6: No such"), std::string::npos);
  EXPECT_EQ(text.find("/srv/s/f7:"), std::string::npos);
  EXPECT_NE(text.find("  - and 895 more\n"), std::string::npos) << text;
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 24);
}

TEST(ReportText, FitsTheScreenButForWordsThatAreLonger) {
  Report report = sample_report();
  report.devices[0].restore.error.reset();
  report.devices[0].findings.push_back(test::gone(8, "some/where"));
  for (const unsigned width : {24U, 40U, 60U, 80U, 100U}) {
    std::istringstream in(report_text(report, 4, TextStyle{width, false}));
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("verdict: ") || line.starts_with("next: ")) continue;
      const std::size_t longest = std::max<std::size_t>(width, 30);
      EXPECT_LE(columns_of(line), longest) << width << ": " << line;
    }
  }
}

TEST(ReportText, JoinsTheLoadersThatComeToTheSame) {
  Report report = sample_report();
  DeviceReport& device = report.devices[0];
  device.elsewhere.push_back(device.elsewhere[0]);
  device.elsewhere[1].profile = Profile::kCubeRemap;
  device.elsewhere.push_back({Profile::kVirtiofsd, OnError::kGuestError, Outcome::kFails,
                              device.restore.error, false});
  const std::string text = report_text(report, 4, TextStyle{80, false});
  EXPECT_NE(text.find("  elsewhere (cube-guest-error, cube-remap): succeeds\n"
                      "  elsewhere (virtiofsd guest-error): fails alike\n"),
            std::string::npos)
      << text;
}

TEST(ReportText, ShortensAPathThatWouldFillTheScreen) {
  Report report = sample_report();
  std::string path;
  for (int i = 0; i < 300; ++i) path += "directory/";
  report.devices[0].findings[0].path = path + "end";
  const std::string text = report_text(report, 4, TextStyle{80, false});
  EXPECT_NE(text.find("[..2703-bytes..]"), std::string::npos) << text;
  EXPECT_NE(text.find("directory/end\n    (inode 7, open): the source lost it\n"), std::string::npos) << text;
}

TEST(ReportText, NeverBreaksTheLoadersText) {
  Report report = sample_report();
  report.devices[0].restore.error = std::string(70, 'x') + " " + std::string(70, 'y');
  const std::string text = report_text(report, 4, TextStyle{40, false});
  EXPECT_NE(text.find("    " + *report.devices[0].restore.error + "\n"), std::string::npos);
}

TEST(ReportText, SendsNothingOfATenantToTheTerminal) {
  Report report = sample_report();
  report.devices[0].id = "\x1b]0;id\x07";
  report.devices[0].findings[0].path = "a\x1b[2Jb\nverdict: resume (exit 0)";
  report.devices[0].findings[0].message = "\xc2\x9b" "31m";
  report.devices[0].restore.error = "Opening /\r: x";
  report.snapshot_path = "/s\x1b";
  report.trace_id = "\x1b";
  const std::string text = report_text(report, 4, TextStyle{80, false});
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
  EXPECT_EQ(text.find("\nverdict: resume"), std::string::npos) << text;
}

TEST(ReportText, ColorsTheVerdictOnlyWhereAsked) {
  const std::string plain = report_text(sample_report(), 4, TextStyle{80, false});
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  std::string colored = report_text(sample_report(), 4, TextStyle{80, true});
  EXPECT_NE(colored.find("verdict: \x1b[33mrepair\x1b[0m (exit 4)\n"), std::string::npos);
  // Nothing but color differs.
  for (std::size_t at = 0; (at = colored.find("\x1b[", at)) != std::string::npos;) {
    colored.erase(at, colored.find('m', at) + 1 - at);
  }
  EXPECT_EQ(colored, plain);
}

TEST(ReportText, SaysWhyNothingCouldBeJudged) {
  Report report;
  report.snapshot_path = "/snap";
  report.verdict = Verdict::kIndeterminate;
  report.reason = "not root";
  EXPECT_EQ(report_text(report, 8, TextStyle{80, false}),
            "/snap\n"
            "could not be judged: not root\n"
            "\n"
            "verdict: indeterminate (exit 8)\n"
            "next: see to the cause, then run the same check again; destroy nothing\n");
}

}  // namespace
}  // namespace vfsmend
