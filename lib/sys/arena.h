// SPDX-License-Identifier: Apache-2.0
// Memory for what is kept until all of it goes: the names and objects of a walk. Taking some costs an
// addition; its pages come in pieces of 256 KiB (heap.h says why).
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace vfsmend::sys {

class Arena {
 public:
  // `count` of them, each as T{} has it. Thread-safe.
  template <typename T>
  [[nodiscard]] std::span<T> make(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count == 0) return {};
    auto* begin = static_cast<T*>(take(count * sizeof(T)));
    std::uninitialized_value_construct_n(begin, count);
    return {begin, count};
  }
  // A copy of `text`. Thread-safe.
  [[nodiscard]] std::string_view keep(std::string_view text);

 private:
  // Aligned for any T.
  void* take(std::size_t bytes);

  std::mutex mutex_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;  // in the last of them
  std::size_t left_ = 0;
};

}  // namespace vfsmend::sys
