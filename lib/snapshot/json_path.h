// SPDX-License-Identifier: Apache-2.0
// Where in a JSON document a value stands: the keys and indexes that lead to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace vfsmend {

// Matches any key.
inline constexpr std::string_view kAnyKey = "*";
// Matches any element of an array.
inline constexpr std::string_view kAnyIndex = "#";

class JsonPath {
 public:
  [[nodiscard]] std::size_t size() const { return depth_; }
  // The key at `level`, or nothing ("") for an element of an array or a key too long to be one
  // that anybody asks for.
  [[nodiscard]] std::string_view key(std::size_t level) const {
    return steps_[level].array ? std::string_view() : std::string_view(steps_[level].key);
  }
  [[nodiscard]] std::uint64_t index(std::size_t level) const { return steps_[level].index; }
  // path.is({"fs", kAnyIndex, "id"})
  [[nodiscard]] bool is(std::initializer_list<std::string_view> pattern) const;
  [[nodiscard]] bool starts_with(std::initializer_list<std::string_view> pattern) const;
  // "fs[0].id", for texts.
  [[nodiscard]] std::string text() const;

  // For the walker: a container was entered or left, a key was read, an element begins.
  void enter(bool array);
  void leave() { --depth_; }
  void set_key(std::string_view key, bool known);
  void next_element();

 private:
  struct Step {
    bool array = false;
    bool known = false;       // a key that may be compared
    std::uint64_t index = 0;  // of the element; one past it is the number of elements
    std::string key;
  };

  std::vector<Step> steps_;  // those above depth_ keep their memory
  std::size_t depth_ = 0;
};

}  // namespace vfsmend
