// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>

#include "base/check.h"
#include "snapshot/open.h"
#include "support/memory_calls.h"
#include "targets.h"

namespace vfsmend::fuzz {
namespace {

Result<Snapshot> open(std::string_view config, std::string_view state) {
  std::map<std::string, std::string_view> files{{"state.json", state}};
  if (!config.empty()) files["config.json"] = config;
  test::MemoryCalls calls(files);
  std::optional<ContainerKind> recognised;
  auto opened = open_snapshot(calls, std::string(test::MemoryCalls::kPath), {}, recognised);
  VFSMEND_CHECK(opened || !opened.error().text.empty());
  VFSMEND_CHECK(!opened || recognised == opened->kind);
  return opened;
}

// A repair puts other numbers there, and nothing else changes.
void check_splice(std::string_view config, std::string_view state, const Snapshot& snapshot,
                  std::size_t device) {
  const StateSpan& span = snapshot.devices[device].span;
  VFSMEND_CHECK(span.begin <= span.end && span.end <= state.size());
  const std::string spliced =
      std::string(state.substr(0, span.begin)) + "1,255" + std::string(state.substr(span.end));
  const auto again = open(config, spliced);
  VFSMEND_CHECK(again && again->devices.size() == snapshot.devices.size());
  for (std::size_t i = 0; i < snapshot.devices.size(); ++i) {
    VFSMEND_CHECK(again->devices[i].id == snapshot.devices[i].id);
    const auto& expected = i == device ? ByteVector{1, 255} : snapshot.devices[i].state;
    VFSMEND_CHECK(again->devices[i].state == expected);
  }
}

}  // namespace

void fuzz_state_json(Bytes input) {
  const std::string_view text = as_text(input);
  const std::size_t cut = text.find('\0');
  const std::string_view config = cut == text.npos ? "" : text.substr(0, cut);
  const std::string_view state = cut == text.npos ? text : text.substr(cut + 1);
  const auto opened = open(config, state);
  if (!opened) return;
  for (std::size_t i = 0; i < opened->devices.size() && i < 4; ++i) {
    if (opened->devices[i].state) check_splice(config, state, *opened, i);
  }
}

}  // namespace vfsmend::fuzz
