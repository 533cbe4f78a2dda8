// SPDX-License-Identifier: Apache-2.0
// As it is, and with the checksums made right, so that the fuzzer gets behind them.
#include "base/check.h"
#include "support/manifest_builder.h"
#include "targets.h"

namespace vfsmend::fuzz {
namespace {

void read_and_write(Bytes file) {
  const auto decoded = decode_manifest(file);
  if (!decoded) {
    VFSMEND_CHECK(!decoded.error().text.empty());
    VFSMEND_CHECK(decoded.error().code == ErrorCode::kFormat ||
                  decoded.error().code == ErrorCode::kLimit);
    return;
  }
  // Its tables are consistent, or this would abort; and what was read comes back.
  const auto written = encode_manifest(*decoded);
  VFSMEND_CHECK(written);
  const auto again = decode_manifest(*written);
  VFSMEND_CHECK(again && *again == *decoded);
}

}  // namespace

void fuzz_manifest(Bytes input) {
  read_and_write(input);
  ByteVector repaired(input.begin(), input.end());
  test::repair_checksums(repaired);
  read_and_write(repaired);
}

}  // namespace vfsmend::fuzz
