// SPDX-License-Identifier: Apache-2.0
// The two kinds of column of a manifest. Both hold what is the same in every entry once: most trees
// have one owner and one device, and memory that is not touched is the fastest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace vfsmend {

// Numbers. To read one through a const column never changes how it is held.
template <typename T>
class Column {
 public:
  using value_type = T;

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;
    Iterator() = default;
    Iterator(const Column* column, std::size_t i) : column_(column), i_(i) {}
    reference operator*() const { return (*column_)[i_]; }
    Iterator& operator++() { return ++i_, *this; }
    Iterator operator++(int) { return {column_, i_++}; }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const Column* column_ = nullptr;
    std::size_t i_ = 0;
  };

  Column() = default;
  explicit Column(std::vector<T> values) : values_(std::move(values)), size_(values_.size()) {}
  // `size` times the same.
  Column(std::size_t size, T value) : values_(size > 0 ? 1 : 0, value), size_(size), mask_(0) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return values_[i & mask_]; }
  [[nodiscard]] T& operator[](std::size_t i) { return spread(), values_[i]; }
  [[nodiscard]] T& back() { return (*this)[size_ - 1]; }
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size_}; }
  // What is held: each value, or one for all.
  [[nodiscard]] std::span<const T> held() const { return values_; }

  // Takes addresses for so many, and touches no memory.
  void reserve(std::size_t size) { values_.reserve(size); }
  // One value stands for all until the first that differs.
  void push_back(T value) {
    if (size_ > 0 && mask_ == 0 && values_[0] == value) {
      ++size_;
      return;
    }
    if (size_ == 0) mask_ = 0;
    else spread();
    values_.push_back(value);
    ++size_;
  }
  friend bool operator==(const Column& a, const Column& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  void spread() {
    if (mask_ != 0) return;
    if (size_ > 0) values_.resize(size_, T{values_[0]});
    mask_ = ~std::size_t{0};
  }

  std::vector<T> values_;
  std::size_t size_ = 0;
  std::size_t mask_ = ~std::size_t{0};  // 0: values_[0] stands for all
};

// What is new in it is not written before it is known: resize() leaves it as it comes.
template <typename T>
struct UnwrittenAllocator : std::allocator<T> {
  template <typename U>
  void construct(U* place) noexcept {
    ::new (static_cast<void*>(place)) U;
  }
  template <typename U, typename... Args>
  void construct(U* place, Args&&... args) {
    ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
  }
};
template <typename T>
using Unwritten = std::vector<T, UnwrittenAllocator<T>>;
using TextBytes = Unwritten<char>;
using ColumnBytes = Unwritten<std::uint8_t>;

// Texts one behind the other. Bytes as they are: a name need not be UTF-8.
class TextColumn {
 public:
  TextColumn() = default;
  // `ends` of the texts in `bytes`, ascending; the last is its size.
  TextColumn(TextBytes bytes, std::vector<std::uint64_t> ends)
      : bytes_(std::move(bytes)), ends_(std::move(ends)), size_(ends_.size()) {}
  // `size` texts in `bytes`, all as long as one another.
  TextColumn(TextBytes bytes, std::size_t size)
      : bytes_(std::move(bytes)), size_(size), length_(size > 0 ? bytes_.size() / size : 0) {}

  // For so many texts, with so many bytes in all.
  void reserve(std::size_t texts, std::size_t bytes) {
    bytes_.reserve(bytes);
    room_ = texts;
  }
  void add(std::string_view text) {
    if (size_ == 0) length_ = text.size();
    if (ends_.empty() && text.size() != length_) {
      ends_.reserve(std::max(room_, size_ + 1));
      for (std::size_t i = 0; i < size_; ++i) ends_.push_back((i + 1) * length_);
    }
    const std::size_t begin = bytes_.size();
    bytes_.resize(begin + text.size());
    if (!text.empty()) std::memcpy(bytes_.data() + begin, text.data(), text.size());
    ++size_;
    if (!ends_.empty()) ends_.push_back(bytes_.size());
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::string_view operator[](std::size_t i) const {
    const std::uint64_t begin = i == 0 ? 0 : end_of(i - 1);
    return bytes().substr(begin, end_of(i) - begin);
  }
  [[nodiscard]] std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }
  // Where a text ends in bytes().
  [[nodiscard]] std::uint64_t end_of(std::size_t i) const {
    return ends_.empty() ? (i + 1) * length_ : ends_[i];
  }
  friend bool operator==(const TextColumn& a, const TextColumn& b) {
    if (a.size_ != b.size_ || a.bytes_ != b.bytes_) return false;
    for (std::size_t i = 0; i < a.size_; ++i) {
      if (a.end_of(i) != b.end_of(i)) return false;
    }
    return true;
  }

 private:
  TextBytes bytes_;
  std::vector<std::uint64_t> ends_;  // empty: each text has length_ bytes
  std::size_t size_ = 0;
  std::uint64_t length_ = 0;
  std::size_t room_ = 0;  // for so many `ends_`, should they differ
};

}  // namespace vfsmend
