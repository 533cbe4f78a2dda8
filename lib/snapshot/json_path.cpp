// SPDX-License-Identifier: Apache-2.0
#include "snapshot/json_path.h"

#include <fmt/format.h>

#include "base/text.h"

namespace vfsmend {

bool JsonPath::starts_with(std::initializer_list<std::string_view> pattern) const {
  if (pattern.size() > depth_) return false;
  const Step* step = steps_.data();
  for (const std::string_view part : pattern) {
    const Step& s = *step++;
    if (part == kAnyIndex ? s.array : (!s.array && s.known && (part == kAnyKey || part == s.key))) {
      continue;
    }
    return false;
  }
  return true;
}

bool JsonPath::is(std::initializer_list<std::string_view> pattern) const {
  return pattern.size() == depth_ && starts_with(pattern);
}

std::string JsonPath::text() const {
  std::string out;
  for (std::size_t i = 0; i < depth_; ++i) {
    if (steps_[i].array) {
      fmt::format_to(std::back_inserter(out), "[{}]", steps_[i].index);
    } else {
      if (!out.empty()) out += '.';
      out += printable(steps_[i].key);  // it goes into texts, and anybody chose it
    }
  }
  return out;
}

void JsonPath::enter(bool array) {
  if (depth_ == steps_.size()) steps_.emplace_back();
  Step& step = steps_[depth_++];
  step.array = array;
  step.known = false;
  step.index = 0;
  step.key.clear();
}

void JsonPath::set_key(std::string_view key, bool known) {
  steps_[depth_ - 1].known = known;
  steps_[depth_ - 1].key = key;
}

void JsonPath::next_element() {
  if (depth_ > 0 && steps_[depth_ - 1].array) ++steps_[depth_ - 1].index;
}

}  // namespace vfsmend
