// SPDX-License-Identifier: Apache-2.0
// Bytes that are read at an offset: a regular file, or a buffer that plays one (tests, fuzzing).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "sys/calls.h"
#include "sys/read_file.h"

namespace vfsmend {

class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // All of `out`, from `offset`. kFormat where there are fewer bytes, kSystem where reading fails.
  [[nodiscard]] virtual Result<void> read(std::uint64_t offset, std::span<std::uint8_t> out) = 0;
};

class FileSource final : public ByteSource {
 public:
  FileSource(sys::Calls& calls, sys::RegularFile file) : calls_(calls), file_(std::move(file)) {}
  [[nodiscard]] std::uint64_t size() const override { return file_.stamp.size; }
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::uint8_t> out) override {
    return sys::read_exactly(calls_, file_.fd.get(), out, offset);
  }
  [[nodiscard]] const sys::FileStamp& stamp() const { return file_.stamp; }

 private:
  sys::Calls& calls_;
  sys::RegularFile file_;
};

// The same, of a file that stays the caller's.
class BorrowedSource final : public ByteSource {
 public:
  BorrowedSource(sys::Calls& calls, const sys::RegularFile& file) : calls_(calls), file_(file) {}
  [[nodiscard]] std::uint64_t size() const override { return file_.stamp.size; }
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::uint8_t> out) override {
    return sys::read_exactly(calls_, file_.fd.get(), out, offset);
  }

 private:
  sys::Calls& calls_;
  const sys::RegularFile& file_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(Bytes bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::uint8_t> out) override;

 private:
  Bytes bytes_;
};

// `count` bytes from `offset`.
[[nodiscard]] Result<ByteVector> read_part(ByteSource& source, std::uint64_t offset,
                                           std::uint64_t count);

}  // namespace vfsmend
