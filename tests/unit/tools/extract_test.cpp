// SPDX-License-Identifier: Apache-2.0
// `vfsmend repair --extract` as a user meets it, on a libvirt save file made here. tests/qemu has the
// streams of a real QEMU.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "run_tool.h"
#include "support/qemu_builder.h"
#include "support/state_builder.h"
#include "support/temp_dir.h"

namespace vfsmend::test {
namespace {

using testing::HasSubstr;

class Extract : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "not root";
    std::filesystem::create_directories(dir_ / "S");
    dir_.write("S/a", "1");
    // b is gone, and nobody has it open.
    const State state = state_of({root(4), at(2, 1, "a"), at(3, 1, "b")});
    QemuDevice device;
    device.state = as_text(encode(state, Dialect::kV2));
    QemuFile file;
    file.devices = {device};
    stream_ = qemu_file(file);
    save_ = dir_.write("vm.save", header() + stream_);
  }

  [[nodiscard]] static std::string header() {
    std::string out = "LibvirtQemudSave" + little_endian32(2) + little_endian32(500) + little_endian32(1) +
                      little_endian32(0) + little_endian32(0);
    out.resize(92 + 500);
    return out;
  }

  ToolRun repair(std::vector<std::string> args, const ToolWorld& world = {}) const {
    args.insert(args.begin(), "repair");
    args.insert(args.end(), {"--shared-dir", dir_ / "S", save_});
    return run_tool(args, world);
  }

  TempDir dir_;
  std::string stream_;
  std::string save_;
};

TEST_F(Extract, TheStreamIsAPrivateFileAndStaysAsItWasUnderDryRun) {
  const ToolRun run = repair({"-n", "--extract", dir_ / "stream"});
  EXPECT_EQ(run.exit, 4) << run.err;
  EXPECT_EQ(read_text(dir_ / "stream"), stream_);
  struct stat s {};
  ASSERT_EQ(::stat((dir_ / "stream").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0600U);
  EXPECT_THAT(run.out, HasSubstr("taken out of " + save_));
  EXPECT_THAT(run.out, HasSubstr("virsh restore NEW.save"));
}

TEST_F(Extract, TheNewFileIsRepairedAndTheOldOneIsNot) {
  const ToolRun run = repair({"-p", "--extract", dir_ / "stream", "--format", "json"});
  EXPECT_EQ(run.exit, 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("\"extracted_from\":\"" + save_ + "\""));
  EXPECT_NE(read_text(dir_ / "stream"), stream_);
  EXPECT_EQ(read_text(save_), header() + stream_);
  EXPECT_EQ(run_tool({"undo", dir_ / "stream.vfsmend-journal"}).exit, 0);
  EXPECT_EQ(read_text(dir_ / "stream"), stream_);
}

TEST_F(Extract, NamesAreNotTold) {
  const ToolRun run = repair({"-n", "--extract", dir_ / "stream", "--format", "json", "--redact-paths"});
  EXPECT_EQ(run.exit, 4);
  EXPECT_EQ(run.out.find("vm.save"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find(dir_.path()), std::string::npos) << run.out;
}

TEST_F(Extract, NothingIsReplaced) {
  const std::string there = dir_.write("there", "precious");
  ToolRun run = repair({"-p", "--extract", there});
  EXPECT_EQ(run.exit, 16);
  EXPECT_THAT(run.err, HasSubstr("there: is there already"));
  EXPECT_EQ(read_text(there), "precious");
  std::filesystem::create_symlink(dir_ / "elsewhere", dir_ / "link");
  EXPECT_EQ(repair({"-p", "--extract", dir_ / "link"}).exit, 16);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "elsewhere"));
  run = repair({"-p", "--extract", dir_ / "none/stream"});
  EXPECT_EQ(run.exit, 8);
  EXPECT_THAT(run.out, HasSubstr("cannot be made"));
}

TEST_F(Extract, WrongUsageIsNamedBeforeAnythingIsWritten) {
  EXPECT_THAT(repair({"-p", "--vm-state", "x"}).err, HasSubstr("--vm-state is for --extract"));
  EXPECT_EQ(repair({"-p", "--extract", ""}).exit, 16);
  EXPECT_EQ(repair({"--extract", dir_ / "stream"}).exit, 16) << "nobody to ask";
  save_ = dir_.write("raw", "x");
  EXPECT_THAT(repair({"-p", "--extract", dir_ / "stream"}).err, HasSubstr("neither a libvirt save file nor"));
  save_ = dir_ / "S";
  EXPECT_THAT(repair({"-p", "--extract", dir_ / "stream"}).err, HasSubstr("a directory: --extract is for"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "stream"));
}

TEST_F(Extract, ADamagedFileIsToldAndLeavesNothing) {
  std::string bytes = header() + stream_;
  bytes.replace(28, 4, little_endian32(5));
  save_ = dir_.write("packed.save", bytes);
  ToolRun run = repair({"-p", "--extract", dir_ / "stream"});
  EXPECT_EQ(run.exit, 8);
  EXPECT_THAT(run.out, HasSubstr("zstd -dc"));
  save_ = dir_.write("torn.save", (header() + stream_).substr(0, 300));
  run = repair({"-p", "--extract", dir_ / "stream"});
  EXPECT_EQ(run.exit, 8);
  EXPECT_THAT(run.out, HasSubstr("byte 20"));
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    EXPECT_EQ(entry.path().filename().string().find("stream"), std::string::npos);
  }
}

}  // namespace
}  // namespace vfsmend::test
