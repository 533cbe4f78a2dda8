// SPDX-License-Identifier: Apache-2.0
#include "state/codec.h"

#include <gtest/gtest.h>

namespace vfsmend {
namespace {

TEST(Codec, ReadsAStateThatWasNeverMounted) {
  const ByteVector bytes = {1, 0, 2, 0, 0, 0, 0, 0, 0, 0};
  const auto decoded = decode(bytes, Reader::kVirtiofsd);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->dialect, Dialect::kV2);
  EXPECT_EQ(decoded->state.next_inode, 2U);
  EXPECT_EQ(encode(decoded->state, decoded->dialect), bytes);
}

}  // namespace
}  // namespace vfsmend
