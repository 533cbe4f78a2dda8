// SPDX-License-Identifier: Apache-2.0
#include "snapshot/vmdesc.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "snapshot/big_endian.h"
#include "snapshot/json_walk.h"

namespace vfsmend {
namespace {

constexpr std::uint8_t kEndOfSections = 0x00;
constexpr std::uint8_t kDescriptionMark = 0x06;
constexpr std::uint64_t kHeaderSize = 5;  // the mark and the length

// 45 KB for a small VM; some MB with hundreds of processors.
constexpr std::uint64_t kFirstTail = std::uint64_t{64} << 10;
constexpr std::uint64_t kLargestTail = std::uint64_t{16} << 20;

constexpr std::size_t kMostDescribed = 4096;
constexpr std::string_view kDeviceType = "vhost-user-fs";
constexpr std::string_view kBackendType = "vhost-user-fs-backend";

void add(std::uint64_t& sum, std::uint64_t n) {
  sum = n > std::numeric_limits<std::uint64_t>::max() - sum
            ? std::numeric_limits<std::uint64_t>::max()
            : sum + n;
}

class DescriptionVisitor final : public JsonVisitor {
 public:
  // The JSON text begins at byte `begin` of the file.
  DescriptionVisitor(std::uint64_t begin, std::vector<DescribedDevice>& out)
      : begin_(begin), out_(out) {}

  Want begin(const JsonPath& path, JsonKind) override {
    if (path.is({"devices"})) out_.clear();
    if (path.is({"devices", kAnyIndex})) {
      device_ = {};
      type_.clear();
    }
    if (path.is({"devices", kAnyIndex, "subsections", kAnyIndex})) subsection_ = {};
    return Want::kWalk;
  }

  void scalar(const JsonPath& path, const JsonScalar& value) override {
    if (path.size() < 3 || path.key(0) != "devices") return;
    if (path.is({"devices", kAnyIndex, "name"})) device_.name = value.text;
    if (path.is({"devices", kAnyIndex, "vmsd_name"})) type_ = value.text;
    if (path.is({"devices", kAnyIndex, "instance_id"})) device_.instance = value.number;
    if (path.is({"devices", kAnyIndex, "version"})) device_.version = value.number;
    if (path.is({"devices", kAnyIndex, "fields", kAnyIndex, "size"})) {
      add(device_.fields_size, value.number);
    }
    if (!path.starts_with({"devices", kAnyIndex, "subsections", kAnyIndex})) return;
    if (path.size() == 5 && path.key(4) == "vmsd_name") subsection_.type = value.text;
    if (path.size() == 7 && path.key(4) == "fields" && path.key(6) == "size") {
      add(subsection_.size, value.number);
      subsection_.sizes += value.whole ? 1 : 2;  // what is no whole number has no digits
      subsection_.digits = {begin_ + value.raw.begin, begin_ + value.raw.end};
    }
  }

  void end(const JsonPath& path, std::uint64_t) override {
    if (path.is({"devices", kAnyIndex, "subsections", kAnyIndex}) &&
        subsection_.type == kBackendType) {
      device_.backend_size = subsection_.size;
      device_.backend_digits.reset();
      if (subsection_.sizes == 1) device_.backend_digits = subsection_.digits;
    }
    if (!path.is({"devices", kAnyIndex}) || type_ != kDeviceType) return;
    if (out_.size() == kMostDescribed) return refuse("is one device too many");
    out_.push_back(device_);
  }

 private:
  struct Subsection {
    std::string type;
    std::uint64_t size = 0;
    int sizes = 0;
    RawSpan digits;  // of the last one
  };

  std::uint64_t begin_;
  std::vector<DescribedDevice>& out_;
  DescribedDevice device_;
  std::string type_;
  Subsection subsection_;
};

// Where in `tail`, the last bytes of a file, a description begins that ends with it; npos if none.
std::size_t mark_in(Bytes tail) {
  for (std::size_t i = tail.size() - std::min<std::size_t>(tail.size(), kHeaderSize + 1); i > 0;
       --i) {
    if (tail[i] == kDescriptionMark && tail[i - 1] == kEndOfSections &&
        be32(tail.data() + i + 1) == tail.size() - i - kHeaderSize &&
        tail[i + kHeaderSize] == '{') {
      return i;
    }
  }
  return std::string::npos;
}

bool begins_as_text(Bytes tail) {
  constexpr std::size_t kEnough = 64;
  const Bytes head = tail.first(std::min(tail.size(), kEnough));
  return std::all_of(head.begin(), head.end(),
                     [](std::uint8_t c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

Result<std::optional<Vmdesc>> find_vmdesc(ByteSource& source, std::string& why_not) {
  for (std::uint64_t length = kFirstTail; length <= kLargestTail; length *= 4) {
    const std::uint64_t size = std::min(length, source.size());
    const std::uint64_t begin = source.size() - size;
    VFSMEND_TRY_ASSIGN(const ByteVector tail, read_part(source, begin, size));
    const std::size_t mark = mark_in(tail);
    if (mark != std::string::npos) {
      Vmdesc out{begin + mark, {}};
      DescriptionVisitor visitor(out.text_begin(), out.devices);
      auto walked = walk_json(Bytes(tail).subspan(mark + kHeaderSize), visitor);
      if (walked) return std::optional(std::move(out));
      why_not = fmt::format("the vmdesc behind byte {} cannot be read: {}", out.begin + kHeaderSize,
                            walked.error().text);
      return std::optional<Vmdesc>();
    }
    if (size < length || !begins_as_text(tail)) break;
  }
  why_not = "no vmdesc at the end of the file";
  return std::optional<Vmdesc>();
}

}  // namespace vfsmend
