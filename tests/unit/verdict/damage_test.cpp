// SPDX-License-Identifier: Apache-2.0
// Damaged and outsized states through the whole check: an answer every time, and one that names
// the place where the bytes stop making sense.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <string>

#include "support/state_builder.h"
#include "support/temp_dir.h"
#include "sys/unique_fd.h"

namespace vfsmend::test {
namespace {

std::vector<ByteVector> real_states() {
  std::vector<ByteVector> states;
  const std::string dir = VFSMEND_SOURCE_DIR "/fixtures/samples/virtiofsd";
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    states.push_back(read_bytes(entry.path().string()));
  }
  return states;
}

class Damage : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* file : {"a.txt", "b.txt", "d/c.txt", "d/sub/e.txt"}) dir_.write(file, "x");
  }

  // Whatever the bytes are, the report must be of one piece.
  void try_bytes(const ByteVector& bytes) {
    for (const Destination& to :
         {virtiofsd(OnError::kAbort), virtiofsd(OnError::kGuestError),
          cube(Profile::kCubeGuestError)}) {
      const DeviceReport report = check_bytes(bytes, dir_.path(), to);
      const bool fails = report.restore.outcome == Outcome::kFails;
      ASSERT_EQ(fails, report.restore.error.has_value());
      if (to.on_error == OnError::kAbort && fails) {
        ASSERT_NE(report.verdict, Verdict::kResume);
      }
      if (!report.dialect) {
        ASSERT_TRUE(has_code(report, Code::kS002));
        ASSERT_NE(report.findings.front().message.find("at byte "), std::string::npos);
      }
      ++tried_;
    }
  }

  TempDir dir_;
  std::size_t tried_ = 0;
};

TEST_F(Damage, EveryCutOfRealStates) {
  for (const ByteVector& state : real_states()) {
    for (std::size_t size = 0; size < state.size(); ++size) {
      try_bytes({state.begin(), state.begin() + static_cast<std::ptrdiff_t>(size)});
    }
  }
  EXPECT_GT(tried_, 3000U);
}

TEST_F(Damage, EveryBitOfRealStates) {
  for (ByteVector state : real_states()) {
    for (std::size_t bit = 0; bit < state.size() * 8; ++bit) {
      state[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
      try_bytes(state);
      state[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    }
  }
  EXPECT_GT(tried_, 30000U);
}

TEST_F(Damage, CountsThatNoMemoryHolds) {
  for (const ByteVector& head : {ByteVector{1}, ByteVector{1, 0, 2}, ByteVector{1, 0, 2, 0, 0, 0, 0, 0, 0}}) {
    ByteVector bytes = head;
    for (int i = 0; i < 9; ++i) bytes.push_back(0xff);
    bytes.push_back(0x01);
    try_bytes(bytes);
  }
}

// The names exist but one: a million findings are counted, and a thousand made.
TEST_F(Damage, AMillionInodesThatAreGone) {
  constexpr NodeId kInodes = 1'000'000;
  State state = state_of({root(kInodes + 2)});
  std::deque<std::string> names;
  state.inodes.push_back(at(2, 1, "a.txt"));
  for (NodeId id = 3; id <= kInodes; ++id) {
    names.push_back("gone" + std::to_string(id));
    state.inodes.push_back(at(id, 1, names.back()));
  }
  state.next_inode = kInodes + 1;
  const DeviceReport report = check_state(state, dir_.path(), virtiofsd());
  EXPECT_EQ(report.inodes, kInodes);
  EXPECT_EQ(report.verdict, Verdict::kRepair);
  EXPECT_EQ(report.findings.size(), 1000U);
  EXPECT_EQ(report.restore.error.value_or(""),
            "Inode 1000000: Opening " + dir_.path() +
                "/gone1000000: No such file or directory (os error 2)");
}

TEST_F(Damage, AChainOfTenThousandDirectories) {
  constexpr NodeId kDepth = 10'000;
  State state = state_of({root(3)});
  sys::UniqueFd here(::open(dir_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (NodeId id = 2; id < kDepth + 2; ++id) {
    state.inodes.push_back(at(id, id - 1, "d", 2));
    if (id > 2) {
      ASSERT_EQ(::mkdirat(here.get(), "d", 0700), 0);
    }
    here = sys::UniqueFd(::openat(here.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  state.inodes.push_back(at(kDepth + 2, kDepth + 1, "gone"));
  state.next_inode = kDepth + 3;
  const DeviceReport report = check_state(state, dir_.path(), virtiofsd());
  // The loader's own limit: a path of more than 4,095 bytes it shows by its descriptor.
  EXPECT_EQ(report.restore.error.value_or(""),
            "Inode 10002: Opening {fd:N}/gone: No such file or directory (os error 2)");
  const std::string remove = "rm -rf " + (dir_ / "d");
  EXPECT_EQ(std::system(remove.c_str()), 0);
}

}  // namespace
}  // namespace vfsmend::test
