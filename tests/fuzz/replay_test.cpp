// SPDX-License-Identifier: Apache-2.0
// Every input in the corpora, the seeds and what the fuzzers have found since, in every normal run.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"
#include "targets.h"

namespace vfsmend::fuzz {
namespace {

class Corpus : public testing::TestWithParam<Target> {};

TEST_P(Corpus, EveryInputPasses) {
  const std::filesystem::path folder =
      std::filesystem::path(VFSMEND_SOURCE_DIR) / "tests/fuzz/corpus" / GetParam().name;
  std::size_t inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().filename());
    GetParam().run(test::read_bytes(entry.path()));
    ++inputs;
  }
  EXPECT_GE(inputs, 5U);
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace vfsmend::fuzz
